#include "properties/plugin/plugin_laws.h"

namespace lsecheck {

bool says_something_of(LawId law, const PluginDescription& plugin) {
  switch (law) {
    // Within the bound of the class, which holds for every input and order.
    case LawId::accuracy:
    case LawId::single_partition:
    case LawId::trailing_empties:
    case LawId::empty_anywhere:
    case LawId::permutation:
    case LawId::equal_partitions:
    case LawId::lse_shift:
    case LawId::convexity:
      return true;
    // To the bit, in two calls that differ in nothing that the order of operations may depend on.
    // garbage_ignored: what is ignored reaches no operation; finite garbage is multiplied by 0, and adding a 0 changes
    // no sum but the sign of a 0. negation: weights do not depend on values, and rounding to nearest is symmetric in
    // every format, subnormals, flushed ones and overflows included.
    case LawId::every_output_written:
    case LawId::garbage_ignored:
    case LawId::negation:
      return plugin.bits >= PluginBits::same_launch;
    // The premise of the law (law_bound.cpp), for a kernel that rescales its sums: values of one sign, and every weight
    // and weighted value far from where f32 or bf16 is subnormal or overflows. No sum cancels then, so that in every
    // class all that depends on a value lies between the smallest weighted one and the sum of all, and each rounding of
    // it moves with the power of two. f16 has no such room.
    case LawId::value_scaling:
      return plugin.bits >= PluginBits::same_launch && plugin.model.intermediate != DType::f16;
    // Of rows that stay as they are while others change.
    case LawId::all_empty_row:
    case LawId::row_independence:
      return plugin.bits >= PluginBits::same_row;
    // Variants, chips, orders of threads and records of this program's own kernels; NaN and Inf, of which a plugin
    // promises nothing; LSEs of groups, which the plugin does not return.
    case LawId::rung_is_runtime:
    case LawId::schedule_order:
    case LawId::hierarchical:
    case LawId::special_values:
    case LawId::twin:
    case LawId::warps_per_head_agree:
    case LawId::ragged_is_dense:
    case LawId::sink_absent:
    case LawId::fast_is_production:
    case LawId::frozen_digest:
    case LawId::distribution:
    case LawId::large_grid:
      break;
  }
  return false;
}

}  // namespace lsecheck
