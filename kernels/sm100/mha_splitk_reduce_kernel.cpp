#include "kernels/sm100/mha_splitk_reduce_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/sm100/executor_launch.h"
#include "kernels/sm100/mha_instances.h"
#include "kernels/sm100/mha_instantiation_table.h"
#include "kernels/sm100/mha_splitk_reduce.cuh"
#include "kernels/sm100/mha_splitk_reduce_bound.h"

namespace lsecheck::sm100 {

namespace {

class MhaSplitkReduceKernel final : public CombineKernel {
 public:
  std::string_view name() const override { return "mha_splitk_reduce"; }
  std::string_view summary() const override {
    return "multi-head decode split-K reduction, maximum and mass apart, Kahan sums, one warp per row-head";
  }
  std::span<const int> depths() const override { return kMhaDepths; }
  int p_max() const override { return kMhaPMax; }
  std::string partition_counts() const override { return fmt::format("1 to {}", kMhaPMax); }
  bool supports_types(DType out, DType partial) const override { return mha_in_table(out, partial); }
  bool has_cuda_build() const override { return true; }
  bool takes_sink() const override { return false; }
  bool takes_masses() const override { return true; }
  bool empty_by_mass() const override { return true; }
  std::span<const ExponentForm> exponent_forms() const override {
    static constexpr ExponentForm kForms[] = {ExponentForm::log2, ExponentForm::natural};
    return kForms;
  }
  bool trailing_empties_exact() const override { return false; }  // adding 0 folds the compensation in
  bool shift_exact() const override { return true; }
  bool rescales_sums() const override { return false; }

  std::optional<std::string> refuse(const CombineShape& shape) const override {
    if (shape.num_partitions < 1 || shape.num_partitions > kMhaPMax) {
      return fmt::format("num_partitions = {}: {} takes 1 to {}, one per lane", shape.num_partitions, name(), kMhaPMax);
    }
    if (std::find(kMhaDepths.begin(), kMhaDepths.end(), shape.ov_depth) == kMhaDepths.end()) {
      return fmt::format("ov_depth = {}: {} is compiled for {}", shape.ov_depth, name(), fmt::join(kMhaDepths, ", "));
    }
    if (!supports_types(shape.out, shape.partial)) {
      return fmt::format("partials {} with output {}: {} takes partials in the output type or in f32",
                         name_of(shape.partial), name_of(shape.out), name());
    }
    if (shape.exponent == ExponentForm::scaled) {
      return fmt::format("scaled exponents: {} reads log2 or natural ones", name());
    }
    if (shape.rows < 1 || shape.rows > 65535) {
      return fmt::format("rows = {}: {} has them on the grid's z axis, 1 to 65535", shape.rows, name());
    }
    if (shape.heads < 1 || shape.heads > 65535) {
      return fmt::format("heads = {}: {} has them on the grid's y axis, 1 to 65535", shape.heads, name());
    }
    return std::nullopt;
  }

  std::optional<int> launchable_partitions(const CombineShape& shape) const override {
    return refuse(shape) ? std::nullopt : std::optional(shape.num_partitions);
  }

  std::vector<KernelVariant> variants(const CombineShape&) const override { return {{"runtime"}}; }

  std::optional<simt::Fault> launch(const CombineShape& shape, const KernelVariant& variant,
                                    const CombineBuffers& buffers, const ExecutionOptions& options) const override {
    if (options.backend == Backend::cuda) return cuda::launch(name(), shape, variant, buffers);
    const bool natural = shape.exponent == ExponentForm::natural;
    const MhaInstance& instance = *find_mha_instance(shape.out, shape.partial, shape.ov_depth, natural);
    const MhaArguments arguments{reinterpret_cast<const float*>(buffers.lse_partial.data()),
                                 reinterpret_cast<const float*>(buffers.mass_partial.data()),
                                 buffers.o_partial.data(),
                                 buffers.output.data(),
                                 static_cast<unsigned>(shape.num_partitions),
                                 shape.rows,
                                 shape.heads};
    simt::Launch launch = launch_as(options, shape.arch);
    launch.kernel = fmt::format("{}<{}, {}, {}, {}>", name(), name_of(shape.out), name_of(shape.partial),
                                shape.ov_depth, natural ? "exp" : "exp2");
    launch.grid = {1, shape.heads, shape.rows};
    launch.block = {32, 1, 1};
    launch.buffers = {input("o_partial", buffers.o_partial), input("qk_max", buffers.lse_partial),
                      input("exp_sum", buffers.mass_partial)};
    launch.buffers.push_back(output("output", buffers.output));
    return simt::run(launch, [&] { instance.thread_body(arguments); });
  }

  RowExpectation expect(const CombineShape& shape, const KernelVariant&, const RowInput& row,
                        sfu::UnitKind unit) const override {
    return mha_expectation(shape, row, sfu::accuracy_of(unit));
  }

  RowBound bound(const CombineShape& shape, const RowExpectation& row, sfu::UnitKind unit) const override {
    return mha_row_bound(row, shape.out, sfu::accuracy_of(unit));
  }
};

}  // namespace

const CombineKernel& mha_splitk_reduce_kernel() {
  static const MhaSplitkReduceKernel kernel;
  return kernel;
}

}  // namespace lsecheck::sm100
