#include "kernels/sm100/fa4_combine_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/dispatch/fa4_dispatch.h"
#include "kernels/sm100/executor_launch.h"
#include "kernels/sm100/fa4_instances.h"
#include "kernels/sm100/fa4_instantiation_table.h"
#include "kernels/sm100/fa4_row_contract.h"
#include "kernels/sm100/fa4_splitk_combine_bound.h"

namespace lsecheck::sm100 {

namespace {

bool on_ladder(Arch arch, int num_partitions) {
  const auto ladder = splitk_p_ladder(sm_count_of(arch));
  return std::find(ladder.begin(), ladder.end(), num_partitions) != ladder.end();
}

class Fa4CombineKernel final : public CombineKernel {
 public:
  std::string_view name() const override { return "fa4_splitk_combine"; }
  std::string_view summary() const override { return "FA4 workspace split-K combine, one warp per row-head"; }
  std::span<const int> depths() const override { return kFa4Depths; }
  int p_max() const override { return kPMax; }
  std::string partition_counts() const override { return fmt::format("1 to {}", kPMax); }
  bool takes_sink() const override { return false; }
  bool trailing_empties_exact() const override { return true; }
  bool shift_exact() const override { return false; }
  bool rescales_sums() const override { return false; }
  bool has_cuda_build() const override { return true; }
  bool supports_types(DType out, DType partial) const override { return fa4_in_table(out, partial, 128, 0); }

  std::optional<std::string> refuse(const CombineShape& shape) const override {
    if (shape.num_partitions < 1 || shape.num_partitions > kPMax) {
      return fmt::format("num_partitions = {}: {} takes 1 to {} (FA4_COMBINE_P_MAX)", shape.num_partitions, name(),
                         kPMax);
    }
    if (std::find(kFa4Depths.begin(), kFa4Depths.end(), shape.ov_depth) == kFa4Depths.end()) {
      return fmt::format("ov_depth = {}: {} is compiled for {}", shape.ov_depth, name(), fmt::join(kFa4Depths, ", "));
    }
    if (!supports_types(shape.out, shape.partial)) {
      return fmt::format("partials {} with output {}: {} takes partials in the output type or in f32",
                         name_of(shape.partial), name_of(shape.out), name());
    }
    if (shape.rows_heads() < 1 || shape.rows_heads() > 0x7fffffffU) {
      return fmt::format("rows * heads = {}: {} launches one block per row-head, 1 to 2147483647", shape.rows_heads(),
                         name());
    }
    return std::nullopt;
  }

  std::optional<int> launchable_partitions(const CombineShape& shape) const override {
    return refuse(shape) ? std::nullopt : std::optional(shape.num_partitions);
  }

  bool has_rungs() const override { return true; }

  std::optional<int> production_bucket(const CombineShape& shape) const override {
    const std::optional<int> rung = next_rung(sm_count_of(shape.arch), shape.num_partitions);
    if (!rung || *rung == shape.num_partitions) return std::nullopt;
    return fa4_in_table(shape.out, shape.partial, shape.ov_depth, *rung) ? rung : std::nullopt;
  }

  // The launcher has one kernel per rung and one for every other P.
  std::vector<KernelVariant> variants(const CombineShape& shape) const override {
    std::vector<KernelVariant> result;
    if (on_ladder(shape.arch, shape.num_partitions) &&
        find_fa4_instance(shape.out, shape.partial, shape.ov_depth, shape.num_partitions) != nullptr) {
      result.push_back({.name = "rung", .p_static = shape.num_partitions});
    }
    result.push_back({.name = "runtime"});
    if (fa4_fast_in_table(shape.ov_depth)) {
      for (const int load_bytes : kFa4FastLoadBytes) {
        if (!fa4_fast_fits(shape.partial, shape.ov_depth, load_bytes, shape.rows_heads())) continue;
        KernelVariant fast{.name = fmt::format("fast{}", load_bytes), .load_bytes = load_bytes};
        result.push_back(std::move(fast));
      }
    }
    return result;
  }

  std::optional<simt::Fault> launch(const CombineShape& shape, const KernelVariant& variant,
                                    const CombineBuffers& buffers, const ExecutionOptions& options) const override {
    if (options.backend == Backend::cuda) return cuda::launch(name(), shape, variant, buffers);
    const Fa4Instance& instance =
        *find_fa4_instance(shape.out, shape.partial, shape.ov_depth, variant.p_static, variant.load_bytes);
    const Fa4Arguments arguments{reinterpret_cast<const float*>(buffers.lse_partial.data()),
                                 buffers.o_partial.data(),
                                 buffers.output.data(),
                                 shape.num_partitions,
                                 shape.rows,
                                 shape.heads};
    simt::Launch launch = launch_as(options, shape.arch);
    const bool fast = variant.load_bytes > 0;
    launch.kernel = fmt::format("{}{}<{}, {}, {}, {}>", name(), fast ? "_fast" : "", name_of(shape.out),
                                name_of(shape.partial), shape.ov_depth, fast ? variant.load_bytes : variant.p_static);
    const Fa4Grid grid = fa4_grid(shape.partial, shape.ov_depth, variant.load_bytes, shape.rows_heads());
    launch.grid = {grid.blocks, 1, 1};
    launch.block = {grid.threads, 1, 1};
    launch.buffers = {input("o_partial", buffers.o_partial), input("lse_partial", buffers.lse_partial),
                      output("output", buffers.output)};
    launch.dependent = true;
    return simt::run(launch, [&] { instance.thread_body(arguments); });
  }

  RowExpectation expect(const CombineShape& shape, const KernelVariant& variant, const RowInput& row,
                        sfu::UnitKind unit) const override {
    return fa4_expectation(shape, variant.p_static, row, sfu::accuracy_of(unit));
  }

  RowBound bound(const CombineShape& shape, const RowExpectation& row, sfu::UnitKind unit) const override {
    return fa4_row_bound(row, shape.out, sfu::accuracy_of(unit));
  }
};

}  // namespace

const CombineKernel& fa4_combine_kernel() {
  static const Fa4CombineKernel kernel;
  return kernel;
}

}  // namespace lsecheck::sm100
