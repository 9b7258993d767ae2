#pragma once

#include <vector>

#include "kernels/combine_kernel.h"
#include "kernels/sm100/mla_instances.h"

// Rows of a combine shape as an MLA launch: [rows, heads] becomes batch sequences of query positions.
namespace lsecheck::sm100 {

struct MlaLaunchPlan {
  unsigned batch_size = 0;
  unsigned seq_len = 0;                    // of the longest sequence; the workspace is padded to it
  std::vector<std::uint32_t> row_offsets;  // [batch_size + 1]; empty: dense
};

// Dense: as many positions as sequences, as far as the rows divide. Ragged: sequences of 2, 0, 3 and 1 positions in
// turn under a padded length of 3, so that one is empty, one is full and blocks past an end exist whatever the number
// of rows.
MlaLaunchPlan mla_launch_plan(std::uint32_t rows, bool ragged);

// heads_per_block heads a block on the z axis. warps_per_head: kSplitParallelInstance for mla_combine_split_parallel.
simt::Dim3 mla_grid(const MlaLaunchPlan& plan, std::uint32_t heads, int warps_per_head);
inline constexpr unsigned kMlaThreads = 256;  // a block

std::optional<simt::Fault> launch_mla(const CombineShape& shape, const KernelVariant& variant,
                                      std::string_view kernel_name, const CombineBuffers& buffers,
                                      const ExecutionOptions& options);

}  // namespace lsecheck::sm100
