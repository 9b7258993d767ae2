#pragma once

#include <mpfr.h>

#include <bit>
#include <boost/multiprecision/gmp.hpp>
#include <boost/multiprecision/mpfr.hpp>
#include <cstdint>

// The number types of the exact reference. Boost owns the memory; wherever a rounding enters an error bound the MPFR
// function is called on raw(), with the precision of its target and the direction in plain sight.
namespace lsecheck {

using Mp = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<0>, boost::multiprecision::et_off>;
using MpInteger = boost::multiprecision::number<boost::multiprecision::gmp_int, boost::multiprecision::et_off>;

// Radii are upper bounds: one limb, kept in place, always rounded up.
using Radius =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<18, boost::multiprecision::allocate_stack>,
                                  boost::multiprecision::et_off>;

inline mpfr_ptr raw(Radius& value) {
  return value.backend().data();
}
inline mpfr_srcptr raw(const Radius& value) {
  return value.backend().data();
}
inline mpfr_ptr raw(Mp& value) {
  return value.backend().data();
}
inline mpfr_srcptr raw(const Mp& value) {
  return value.backend().data();
}
inline mpz_ptr raw(MpInteger& value) {
  return value.backend().data();
}
inline mpz_srcptr raw(const MpInteger& value) {
  return value.backend().data();
}

// Zero, with the given number of significand bits.
inline Mp make_mp(mpfr_prec_t precision) {
  Mp value;
  mpfr_set_prec(raw(value), precision);
  mpfr_set_zero(raw(value), 1);
  return value;
}

// abs(x) = significand * 2^exponent of a finite double, significand < 2^53, exponent >= -1074.
struct DoubleParts {
  std::uint64_t significand;
  int exponent;
};

inline DoubleParts double_parts(double x) {
  constexpr std::uint64_t kHidden = std::uint64_t{1} << 52;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const int field = static_cast<int>(bits >> 52) & 0x7ff;
  if (field == 0) return {bits & (kHidden - 1), -1074};
  return {(bits & (kHidden - 1)) | kHidden, field - 1075};
}

// All real numbers within rad of mid. rad == 0: mid is the number itself.
struct Ball {
  Mp mid;
  Radius rad;

  explicit Ball(mpfr_prec_t precision) : mid(make_mp(precision)) {}
  bool contains_zero() const { return mpfr_cmpabs(raw(mid), raw(rad)) <= 0; }
  bool is_exact() const { return mpfr_zero_p(raw(rad)) != 0; }
};

}  // namespace lsecheck
