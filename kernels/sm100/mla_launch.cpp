#include "kernels/sm100/mla_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/sm100/executor_launch.h"
#include "kernels/sm100/mla_combine.cuh"

namespace lsecheck::sm100 {

namespace {

static_assert(kMlaThreads == 32 * kMlaWarpsPerBlock);

constexpr std::array<unsigned, 4> kSequenceLengths{2, 0, 3, 1};
constexpr unsigned kPaddedLength = 3;
// What no one wrote: NaN in every type.
constexpr std::byte kUnwritten{0xff};

// [P, rows, row_bytes] to [P, batch, seq, row_bytes].
std::vector<std::byte> padded(std::span<const std::byte> packed, const MlaLaunchPlan& plan, std::size_t num_partitions,
                              std::size_t row_bytes) {
  const std::size_t rows = plan.row_offsets.back();
  const std::size_t padded_rows = std::size_t{plan.batch_size} * plan.seq_len;
  std::vector<std::byte> result(num_partitions * padded_rows * row_bytes, kUnwritten);
  for (std::size_t p = 0; p < num_partitions; ++p) {
    for (std::size_t b = 0; b < plan.batch_size; ++b) {
      const std::size_t first = plan.row_offsets[b];
      const std::size_t length = plan.row_offsets[b + 1] - first;
      if (length == 0) continue;
      std::memcpy(result.data() + (p * padded_rows + b * plan.seq_len) * row_bytes,
                  packed.data() + (p * rows + first) * row_bytes, length * row_bytes);
    }
  }
  return result;
}

}  // namespace

MlaLaunchPlan mla_launch_plan(std::uint32_t rows, bool ragged) {
  MlaLaunchPlan plan;
  if (!ragged) {
    plan.seq_len = 1;
    for (std::uint32_t d = 2; std::uint64_t{d} * d <= rows; ++d) {
      if (rows % d == 0) plan.seq_len = d;
    }
    plan.batch_size = rows / plan.seq_len;
    return plan;
  }
  plan.seq_len = kPaddedLength;
  plan.row_offsets.push_back(0);
  while (plan.row_offsets.back() < rows) {
    const unsigned length = kSequenceLengths[plan.batch_size++ % kSequenceLengths.size()];
    plan.row_offsets.push_back(std::min(rows, plan.row_offsets.back() + length));
  }
  return plan;
}

simt::Dim3 mla_grid(const MlaLaunchPlan& plan, std::uint32_t heads, int warps_per_head) {
  const auto heads_per_block =
      warps_per_head == kSplitParallelInstance ? 1U : static_cast<std::uint32_t>(kMlaWarpsPerBlock / warps_per_head);
  return {plan.batch_size, plan.seq_len, (heads + heads_per_block - 1) / heads_per_block};
}

std::optional<simt::Fault> launch_mla(const CombineShape& shape, const KernelVariant& variant,
                                      std::string_view kernel_name, const CombineBuffers& buffers,
                                      const ExecutionOptions& options) {
  const MlaLaunchPlan plan = mla_launch_plan(shape.rows, variant.ragged);
  const auto num_partitions = static_cast<std::size_t>(shape.num_partitions);
  std::span<const std::byte> lse = buffers.lse_partial;
  std::span<const std::byte> o = buffers.o_partial;
  std::vector<std::byte> padded_lse, padded_o;
  if (variant.ragged) {
    padded_lse = padded(lse, plan, num_partitions, shape.heads * sizeof(float));
    padded_o = padded(o, plan, num_partitions,
                      shape.heads * static_cast<std::size_t>(shape.ov_depth) * size_of(shape.partial));
    lse = padded_lse;
    o = padded_o;
  }
  if (options.backend == Backend::cuda) {
    return cuda::launch(kernel_name, shape, variant, {lse, o, buffers.output, buffers.attention_sink},
                        plan.row_offsets);
  }
  const auto offsets = std::as_bytes(std::span(plan.row_offsets));

  MlaArguments arguments;
  arguments.lse_partial = reinterpret_cast<const float*>(lse.data());
  arguments.o_partial = o.data();
  arguments.output = buffers.output.data();
  if (!buffers.attention_sink.empty()) {
    arguments.attention_sink = reinterpret_cast<const float*>(buffers.attention_sink.data());
  }
  arguments.geometry = {plan.batch_size, plan.seq_len, shape.heads, variant.ragged ? plan.row_offsets.data() : nullptr};

  const MlaInstance& instance =
      *find_mla_instance(shape.out, shape.ov_depth, shape.num_partitions, variant.warps_per_head);
  simt::Launch launch = launch_as(options, shape.arch);
  launch.kernel = fmt::format("{}<{}, {}, {}, {}>", kernel_name, name_of(shape.out), shape.ov_depth,
                              shape.num_partitions, variant.name);
  launch.grid = mla_grid(plan, shape.heads, variant.warps_per_head);
  launch.block = {kMlaThreads, 1, 1};
  launch.buffers = {input("o_partial", o), input("lse_partial", lse)};
  if (variant.ragged) launch.buffers.push_back(input("row_offsets", offsets));
  if (!buffers.attention_sink.empty()) launch.buffers.push_back(input("attention_sink", buffers.attention_sink));
  launch.buffers.push_back(output("output", buffers.output));
  launch.dependent = true;
  return simt::run(launch, [&] { instance.thread_body(arguments); });
}

}  // namespace lsecheck::sm100
