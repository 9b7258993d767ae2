#include "properties/explain/contract_run.h"

#include <mpfr.h>

#include <stdexcept>

#include "kernels/ptx_float.h"

namespace lsecheck {
namespace {

// Zeros keep their sign both ways.
float f32(const Exact& x) {
  const auto value = x.convert_to<float>();
  if (!boost::multiprecision::isnan(x) && Exact(value) != x) {
    throw std::logic_error("a step in f32 uses the result of a later step");
  }
  return value;
}

template <class Function>
Exact exact(Function function, const Exact& x) {
  Exact result;
  function(result.backend().data(), x.backend().data(), MPFR_RNDN);
  return result;
}

}  // namespace

Exact Step::add(const Exact& a, const Exact& b) const {
  return in_f32_ ? Exact(f32(a) + f32(b)) : a + b;
}

Exact Step::sub(const Exact& a, const Exact& b) const {
  return in_f32_ ? Exact(f32(a) - f32(b)) : a - b;
}

Exact Step::mul(const Exact& a, const Exact& b) const {
  return in_f32_ ? Exact(f32(a) * f32(b)) : a * b;
}

Exact Step::mul_ftz(const Exact& a, const Exact& b) const {
  return in_f32_ ? Exact(lsecheck::mul_ftz(f32(a), f32(b))) : a * b;
}

Exact Step::fma(const Exact& a, const Exact& b, const Exact& c) const {
  return in_f32_ ? Exact(fma_rn(f32(a), f32(b), f32(c))) : a * b + c;
}

Exact Step::fma_ftz(const Exact& a, const Exact& b, const Exact& c) const {
  return in_f32_ ? Exact(fma_rn_ftz(f32(a), f32(b), f32(c))) : a * b + c;
}

Exact Step::ex2(const Exact& x) const {
  return in_f32_ ? Exact(sfu::ex2_approx_ftz(unit_, f32(x))) : exact(mpfr_exp2, x);
}

Exact Step::lg2(const Exact& x) const {
  return in_f32_ ? Exact(sfu::lg2_approx(unit_, f32(x))) : exact(mpfr_log2, x);
}

Exact Step::one_over(const Exact& x) const {
  return in_f32_ ? Exact(divide_rn(1.0F, f32(x))) : 1 / x;
}

Exact Step::rcp(const Exact& x) const {
  return in_f32_ ? Exact(sfu::rcp_approx_ftz(unit_, f32(x))) : 1 / x;
}

Exact Step::natural_to_base_2(const Exact& x) const {
  if (in_f32_) return Exact(f32(x) * kLog2eF32);
  Exact ln2;
  mpfr_const_log2(ln2.backend().data(), MPFR_RNDN);
  return x / ln2;
}

Exact Step::warp_sum(std::vector<Exact> lanes) const {
  // The same in every lane, because f32 addition commutes: following lane 0 is enough.
  for (std::size_t offset = lanes.size() / 2; offset > 0; offset /= 2) {
    for (std::size_t lane = 0; lane < offset; ++lane) lanes[lane] = add(lanes[lane], lanes[lane + offset]);
  }
  return lanes[0];
}

}  // namespace lsecheck
