#include "reference/double_double.h"

#include <array>
#include <cstddef>

#include "reference/float_format.h"

namespace lsecheck {
namespace {

// (ln 2) / 8, within 2^-106 relative.
constexpr DoubleDouble kLn2Eighth{0x1.62e42fefa39efp-4, 0x1.abc9e3b39803fp-59};

// 1 / k!, k = 2 .. 7, each within 2^-106 relative.
constexpr std::array<DoubleDouble, 6> kInverseFactorial = {{{0x1.0000000000000p-1, 0},
                                                            {0x1.5555555555555p-3, 0x1.5555555555555p-57},
                                                            {0x1.5555555555555p-5, 0x1.5555555555555p-59},
                                                            {0x1.1111111111111p-7, 0x1.1111111111111p-63},
                                                            {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
                                                            {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73}}};

// 1 / k!, k = 8 .. 16, correctly rounded.
constexpr std::array<double, 9> kInverseFactorialTail = {
    0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26, 0x1.1eed8eff8d898p-29,
    0x1.6124613a86d09p-33, 0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-41, 0x1.ae7f3e733b81fp-45,
};

}  // namespace

// x = n + r with n the integer nearest to hi; hi - n is exact, and so is two_sum. z = r (ln 2) / 8, abs(z) < 0.0434,
// and 2^x = 2^n (e^z)^8. With u = 2^-53, S_k = sum over j >= k of z^(j-k) k! / j!, scaled here as s_k = S_k / k!:
//   z      5 u^2 + u^2 relative: 0.27 u^2 absolute
//   tail   s_8 in double: its error is below 2.1 u relative (coefficient and last fma u each, the
//          rest times z / 9), s_8 < 1.01 / 8!, and it enters e^z times z^8 < 2^-36.2: below
//          2^-52 * 2^-15.2 * 2^-36.2 = 2^-103.4 = 6.1 u^2. What follows 16! is below z^17 / 17! < 2^-125.
//   s_k    = 1 / k! + z s_(k+1), k = 7 .. 2: a coefficient (u^2), a product (5 u^2) and a sum (3.1 u^2) of values below
//          0.53, which reach e^z times z^k: below z^2 * 0.53 * 10 u^2 < 0.02 u^2 altogether
//   e^z    = 1 + z (1 + z s_2). z s_2: 5 u^2 * 0.03, the sum 2 u^2 * 1.03, both times z: 0.1 u^2; the product with z:
//          5 u^2 * 0.045 = 0.23 u^2; the last sum 2 u^2 * 1.05
// e^z: below 0.27 + 6.1 + 0.02 + 0.1 + 0.23 + 2.1 = 8.9 u^2 absolute, 9.3 u^2 relative (e^z > 0.957). Each squaring
// doubles the relative error and adds 5 u^2: 8 * 9.3 + 35 = 110 u^2 < 2^-99.2, against a stated 2^-96. Scaling by 2^n
// is exact.
DoubleDouble exp2_double_double(DoubleDouble x) {
  constexpr double kRoundToInteger = 0x1.8p52;
  const double n = (x.hi + kRoundToInteger) - kRoundToInteger;
  const DoubleDouble z = multiply(two_sum(x.hi - n, x.lo), kLn2Eighth);
  double tail = kInverseFactorialTail.back();
  for (std::size_t k = kInverseFactorialTail.size() - 1; k-- > 0;)
    tail = std::fma(z.hi, tail, kInverseFactorialTail[k]);
  DoubleDouble s{tail, 0};
  for (std::size_t k = kInverseFactorial.size(); k-- > 0;) s = add(kInverseFactorial[k], multiply(z, s));
  s = add(multiply(z, s), 1.0);
  s = add(multiply(z, s), 1.0);
  for (int i = 0; i < 3; ++i) s = multiply(s, s);
  const double scale = two_to_the(static_cast<int>(n));
  return {s.hi * scale, s.lo * scale};
}

}  // namespace lsecheck
