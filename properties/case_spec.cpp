#include "properties/case_spec.h"

namespace lsecheck {

bool CaseSpec::operator==(const CaseSpec& other) const {
  // The measured unit has no seed: whatever the field holds there, it is the same case.
  const bool same_unit =
      unit.kind == other.unit.kind && (unit.kind == sfu::UnitKind::h200 || unit.seed == other.unit.seed);
  return same_unit && kernel == other.kernel && arch == other.arch && selection == other.selection &&
         num_partitions == other.num_partitions && rows == other.rows && heads == other.heads &&
         ov_depth == other.ov_depth && out == other.out && partial == other.partial && lse == other.lse &&
         values == other.values && empties == other.empties && garbage == other.garbage && sink == other.sink &&
         schedule == other.schedule && seed == other.seed;
}

// The switches name every enumerator, so that -Wswitch reports a new one; a value outside the enumeration has no name.

std::string_view name_of(KernelId kernel) {
  switch (kernel) {
    case KernelId::fa4_splitk_combine:
      return "fa4_splitk_combine";
    case KernelId::mla_combine:
      return "mla_combine";
    case KernelId::mla_combine_split_parallel:
      return "mla_combine_split_parallel";
  }
  return "unknown";
}

std::string_view name_of(Selection selection) {
  switch (selection) {
    case Selection::production:
      return "production";
    case Selection::runtime_p:
      return "runtime_p";
    case Selection::over_bucketed:
      return "over_bucketed";
    case Selection::alternative:
      return "alternative";
  }
  return "unknown";
}

std::string_view name_of(LseRegime regime) {
  switch (regime) {
    case LseRegime::narrow:
      return "narrow";
    case LseRegime::dominant:
      return "dominant";
    case LseRegime::extreme_spread:
      return "extreme_spread";
    case LseRegime::large_magnitude:
      return "large_magnitude";
    case LseRegime::masked_sentinel:
      return "masked_sentinel";
    case LseRegime::ties:
      return "ties";
    case LseRegime::flushed_weights:
      return "flushed_weights";
    case LseRegime::attention:
      return "attention";
    case LseRegime::policy:
      return "policy";
  }
  return "unknown";
}

std::string_view name_of(ValueRegime regime) {
  switch (regime) {
    case ValueRegime::normal:
      return "normal";
    case ValueRegime::cancelling:
      return "cancelling";
    case ValueRegime::constant:
      return "constant";
    case ValueRegime::one_hot:
      return "one_hot";
    case ValueRegime::huge:
      return "huge";
    case ValueRegime::subnormal:
      return "subnormal";
    case ValueRegime::nonfinite:
      return "nonfinite";
    case ValueRegime::attention:
      return "attention";
  }
  return "unknown";
}

std::string_view name_of(EmptyPattern pattern) {
  switch (pattern) {
    case EmptyPattern::none:
      return "none";
    case EmptyPattern::all:
      return "all";
    case EmptyPattern::one_left:
      return "one_left";
    case EmptyPattern::leading:
      return "leading";
    case EmptyPattern::trailing:
      return "trailing";
    case EmptyPattern::random:
      return "random";
    case EmptyPattern::mixed_rows:
      return "mixed_rows";
  }
  return "unknown";
}

std::string_view name_of(SinkKind sink) {
  switch (sink) {
    case SinkKind::none:
      return "none";
    case SinkKind::finite:
      return "finite";
    case SinkKind::minus_infinity:
      return "minus_infinity";
  }
  return "unknown";
}

std::string_view name_of(Garbage garbage) {
  switch (garbage) {
    case Garbage::zero:
      return "zero";
    case Garbage::nan:
      return "nan";
    case Garbage::inf:
      return "inf";
    case Garbage::stale_bits:
      return "stale_bits";
  }
  return "unknown";
}

}  // namespace lsecheck
