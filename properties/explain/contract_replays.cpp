#include "properties/explain/contract_replays.h"

#include <stdexcept>

namespace lsecheck {

ContractReplay replay_of(KernelId kernel) {
  switch (kernel) {
    case KernelId::fa4_splitk_combine:
    case KernelId::mla_combine:
      return replay_global_lse;
    case KernelId::mla_combine_split_parallel:
      return replay_mla_split_parallel;
    case KernelId::fa4_ws_intracta_combine:
      return replay_fa4_ws_intracta;
    case KernelId::fa4_ws_level1_combine:
      return replay_fa4_ws_level1;
    case KernelId::fa4_ws_level2_reduce_scatter_write:
      return replay_fa4_ws_level2;
    case KernelId::fa4_ws_two_level_combine:
      return replay_fa4_ws_two_level;
    case KernelId::mha_splitk_reduce:
      return replay_mha_splitk_reduce;
    case KernelId::plugin:
      throw std::invalid_argument("the steps of a plugin are not known here");
  }
  throw std::invalid_argument("no such kernel");
}

}  // namespace lsecheck
