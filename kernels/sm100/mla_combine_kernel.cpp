#include "kernels/sm100/mla_combine_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kernels/dispatch/mla_dispatch.h"
#include "kernels/sm100/fa4_splitk_combine_bound.h"
#include "kernels/sm100/mla_instantiation_table.h"
#include "kernels/sm100/mla_launch.h"
#include "kernels/sm100/mla_row_contract.h"
#include "kernels/sm100/mla_split_parallel_bound.h"

namespace lsecheck::sm100 {

namespace {

// What the two kernels share: shapes, types and split counts.
class MlaKernel : public CombineKernel {
 public:
  std::span<const int> depths() const override { return kMlaHeadDims; }
  int p_max() const override { return kMlaSplits.back(); }
  std::string partition_counts() const override { return fmt::format("{}", fmt::join(kMlaSplits, ", ")); }
  bool takes_sink() const override { return true; }
  bool supports_types(DType out, DType partial) const override { return out == partial; }
  bool has_cuda_build() const override { return false; }

  std::optional<std::string> refuse(const CombineShape& shape) const override {
    if (std::find(kMlaHeadDims.begin(), kMlaHeadDims.end(), shape.ov_depth) == kMlaHeadDims.end()) {
      return fmt::format("ov_depth = {}: {} is compiled for {}", shape.ov_depth, name(), fmt::join(kMlaHeadDims, ", "));
    }
    if (!supports_types(shape.out, shape.partial)) {
      return fmt::format("partials {} with output {}: {} takes partials in the output type", name_of(shape.partial),
                         name_of(shape.out), name());
    }
    if (!compiled(shape, shape.num_partitions)) {
      return fmt::format("num_partitions = {}: on {} {} is compiled for {} ({}, ov_depth {})", shape.num_partitions,
                         name_of(shape.arch), name(), fmt::join(compiled_counts(shape), ", "), name_of(shape.out),
                         shape.ov_depth);
    }
    if (shape.rows < 1 || shape.rows > 0x7fffffffU) {
      return fmt::format("rows = {}: {} launches one block column per row, 1 to 2147483647", shape.rows, name());
    }
    if (shape.heads < 1 || shape.heads > 65535) {
      return fmt::format("heads = {}: {} has them on the grid's z axis, 1 to 65535", shape.heads, name());
    }
    return std::nullopt;
  }

  std::optional<int> launchable_partitions(const CombineShape& shape) const override {
    for (const int splits : kMlaSplits) {
      CombineShape candidate = shape;
      candidate.num_partitions = splits;
      if (splits >= shape.num_partitions && !refuse(candidate)) return splits;
    }
    return std::nullopt;
  }

  std::optional<int> production_bucket(const CombineShape& shape) const override {
    if (shape.num_partitions < 2) return std::nullopt;
    const int bucket = mla_bucket_num_partitions(sm_count_of(shape.arch), shape.num_partitions);
    return bucket > shape.num_partitions && compiled(shape, bucket) ? std::optional(bucket) : std::nullopt;
  }

 private:
  // Split counts come from the chip's buckets; one split needs no combine.
  static bool compiled(const CombineShape& shape, int splits) {
    const bool has_code = std::find(kMlaSplits.begin(), kMlaSplits.end(), splits) != kMlaSplits.end();
    return has_code && is_mla_bucket(sm_count_of(shape.arch), splits) &&
           mla_in_table(shape.out, shape.ov_depth, splits);
  }
  static std::vector<int> compiled_counts(const CombineShape& shape) {
    std::vector<int> counts;
    for (const int splits : kMlaSplits) {
      if (compiled(shape, splits)) counts.push_back(splits);
    }
    return counts;
  }
};

class MlaCombineKernel final : public MlaKernel {
 public:
  std::string_view name() const override { return "mla_combine"; }
  std::string_view summary() const override { return "MLA decode split-K combine, 1, 2, 4 or 8 warps per head"; }
  bool trailing_empties_exact() const override { return true; }
  bool shift_exact() const override { return false; }
  bool rescales_sums() const override { return false; }

  // Production's choice for a short cache first. Each also ragged.
  std::vector<KernelVariant> variants(const CombineShape& shape) const override {
    MlaCombineRequest request;
    request.sm_count = sm_count_of(shape.arch);
    request.batch = shape.rows;
    request.heads = shape.heads;
    request.num_partitions = shape.num_partitions;
    const int chosen = choose_mla_warps_per_head(request);
    std::vector<int> warps_per_head{chosen};
    std::copy_if(kMlaWarpsPerHead.begin(), kMlaWarpsPerHead.end(), std::back_inserter(warps_per_head),
                 [&](int warps) { return warps != chosen; });
    std::vector<KernelVariant> result;
    for (const bool ragged : {false, true}) {
      for (const int warps : warps_per_head) {
        result.push_back({fmt::format("wph{}{}", warps, ragged ? "_ragged" : ""), shape.num_partitions, warps, ragged});
      }
    }
    return result;
  }

  std::optional<simt::Fault> launch(const CombineShape& shape, const KernelVariant& variant,
                                    const CombineBuffers& buffers, const ExecutionOptions& options) const override {
    return launch_mla(*find_mla_instance(shape.out, shape.ov_depth, shape.num_partitions, variant.warps_per_head),
                      shape, variant, name(), buffers, options);
  }

  RowExpectation expect(const CombineShape& shape, const KernelVariant&, const RowInput& row,
                        sfu::UnitKind unit) const override {
    return mla_combine_expectation(shape, row, sfu::accuracy_of(unit));
  }

  RowBound bound(const CombineShape& shape, const RowExpectation& row, sfu::UnitKind unit) const override {
    return fa4_row_bound(row, shape.out, sfu::accuracy_of(unit));
  }
};

class MlaSplitParallelKernel final : public MlaKernel {
 public:
  std::string_view name() const override { return "mla_combine_split_parallel"; }
  std::string_view summary() const override {
    return "MLA decode split-K combine, splits over 8 warps, one head per block";
  }
  bool trailing_empties_exact() const override { return false; }  // they move splits to other warps
  bool shift_exact() const override { return true; }
  bool rescales_sums() const override { return true; }

  std::vector<KernelVariant> variants(const CombineShape& shape) const override {
    return {{"dense", shape.num_partitions, 0, false}, {"ragged", shape.num_partitions, 0, true}};
  }

  std::optional<simt::Fault> launch(const CombineShape& shape, const KernelVariant& variant,
                                    const CombineBuffers& buffers, const ExecutionOptions& options) const override {
    return launch_mla(*find_mla_instance(shape.out, shape.ov_depth, shape.num_partitions, kSplitParallelInstance),
                      shape, variant, name(), buffers, options);
  }

  RowExpectation expect(const CombineShape& shape, const KernelVariant&, const RowInput& row,
                        sfu::UnitKind unit) const override {
    return mla_split_parallel_expectation(shape, row, sfu::accuracy_of(unit));
  }

  RowBound bound(const CombineShape& shape, const RowExpectation& row, sfu::UnitKind unit) const override {
    return split_parallel_row_bound(row, shape.out, sfu::accuracy_of(unit));
  }
};

}  // namespace

const CombineKernel& mla_combine_kernel() {
  static const MlaCombineKernel kernel;
  return kernel;
}

const CombineKernel& mla_combine_split_parallel_kernel() {
  static const MlaSplitParallelKernel kernel;
  return kernel;
}

}  // namespace lsecheck::sm100
