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
         exponent == other.exponent && mass == other.mass && schedule == other.schedule && seed == other.seed;
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
    case KernelId::fa4_ws_intracta_combine:
      return "fa4_ws_intracta_combine";
    case KernelId::fa4_ws_level1_combine:
      return "fa4_ws_level1_combine";
    case KernelId::fa4_ws_level2_reduce_scatter_write:
      return "fa4_ws_level2_reduce_scatter_write";
    case KernelId::fa4_ws_two_level_combine:
      return "fa4_ws_two_level_combine";
    case KernelId::mha_splitk_reduce:
      return "mha_splitk_reduce";
    case KernelId::plugin:
      return "plugin";
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

std::string_view name_of(ExponentForm form) {
  switch (form) {
    case ExponentForm::log2:
      return "log2";
    case ExponentForm::natural:
      return "natural";
    case ExponentForm::scaled:
      return "scaled";
  }
  return "unknown";
}

std::string_view name_of(MassRegime regime) {
  switch (regime) {
    case MassRegime::unit:
      return "unit";
    case MassRegime::near_one:
      return "near_one";
    case MassRegime::counts:
      return "counts";
    case MassRegime::spread:
      return "spread";
    case MassRegime::tiny:
      return "tiny";
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
