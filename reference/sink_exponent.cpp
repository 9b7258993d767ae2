#include "reference/sink_exponent.h"

#include "reference/exact_number.h"

namespace lsecheck {

double sink_exponent_above(double sink, double m) {
  // f32 operands are below 2^129 here: 400 bits leave an error below 2^-270, next to nothing beside 2^-53 of a
  // difference that an f32 multiple of log2(e) and another f32 can have without being zero.
  constexpr mpfr_prec_t kPrecision = 400;
  Mp ln2 = make_mp(kPrecision);
  mpfr_const_log2(raw(ln2), MPFR_RNDN);
  Mp difference = make_mp(kPrecision);
  mpfr_set_d(raw(difference), sink, MPFR_RNDN);
  mpfr_div(raw(difference), raw(difference), raw(ln2), MPFR_RNDN);
  mpfr_sub_d(raw(difference), raw(difference), m, MPFR_RNDN);
  return mpfr_get_d(raw(difference), MPFR_RNDN);
}

}  // namespace lsecheck
