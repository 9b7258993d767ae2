#pragma once

#include <functional>
#include <utility>

#include "kernels/combine_kernel.h"

namespace lsecheck {

// A registered kernel that does something else before it is launched (crash, hang, leak), and something to its output
// behind it. For tests.
class BrokenKernel final : public CombineKernel {
 public:
  BrokenKernel(
      const CombineKernel& kernel, std::function<void(const CombineShape&)> misdeed,
      std::function<void(std::span<std::byte>)> damage = [](std::span<std::byte>) {})
      : kernel_(kernel), misdeed_(std::move(misdeed)), damage_(std::move(damage)) {}

  std::optional<simt::Fault> launch(const CombineShape& shape, const KernelVariant& variant,
                                    const CombineBuffers& buffers, const ExecutionOptions& options) const override {
    misdeed_(shape);
    std::optional<simt::Fault> fault = kernel_.launch(shape, variant, buffers, options);
    damage_(buffers.output);
    return fault;
  }

  std::string_view name() const override { return kernel_.name(); }
  std::string_view summary() const override { return kernel_.summary(); }
  std::span<const int> depths() const override { return kernel_.depths(); }
  int p_max() const override { return kernel_.p_max(); }
  std::string partition_counts() const override { return kernel_.partition_counts(); }
  bool supports_types(DType out, DType partial) const override { return kernel_.supports_types(out, partial); }
  bool has_cuda_build() const override { return kernel_.has_cuda_build(); }
  std::optional<std::string> refuse(const CombineShape& shape) const override { return kernel_.refuse(shape); }
  std::optional<int> launchable_partitions(const CombineShape& shape) const override {
    return kernel_.launchable_partitions(shape);
  }
  std::optional<int> production_bucket(const CombineShape& shape) const override {
    return kernel_.production_bucket(shape);
  }
  bool has_rungs() const override { return kernel_.has_rungs(); }
  bool takes_sink() const override { return kernel_.takes_sink(); }
  bool takes_masses() const override { return kernel_.takes_masses(); }
  bool empty_by_mass() const override { return kernel_.empty_by_mass(); }
  bool partials_normalised() const override { return kernel_.partials_normalised(); }
  bool drops_garbage() const override { return kernel_.drops_garbage(); }
  bool divides_by_mass() const override { return kernel_.divides_by_mass(); }
  std::span<const ExponentForm> exponent_forms() const override { return kernel_.exponent_forms(); }
  std::size_t output_columns(const CombineShape& shape) const override { return kernel_.output_columns(shape); }
  bool single_partition_exact() const override { return kernel_.single_partition_exact(); }
  bool trailing_empties_exact() const override { return kernel_.trailing_empties_exact(); }
  bool shift_exact() const override { return kernel_.shift_exact(); }
  bool rescales_sums() const override { return kernel_.rescales_sums(); }
  std::vector<KernelVariant> variants(const CombineShape& shape) const override { return kernel_.variants(shape); }
  RowExpectation expect(const CombineShape& shape, const KernelVariant& variant, const RowInput& row,
                        sfu::UnitKind unit) const override {
    return kernel_.expect(shape, variant, row, unit);
  }
  RowBound bound(const CombineShape& shape, const RowExpectation& row, sfu::UnitKind unit) const override {
    return kernel_.bound(shape, row, unit);
  }

 private:
  const CombineKernel& kernel_;
  std::function<void(const CombineShape&)> misdeed_;
  std::function<void(std::span<std::byte>)> damage_;
};

}  // namespace lsecheck
