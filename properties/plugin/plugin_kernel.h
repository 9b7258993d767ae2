#pragma once

#include <cfenv>
#include <mutex>

#include "kernels/combine_kernel.h"
#include "properties/plugin/plugin_description.h"

// A kernel of which only its class of algorithms is known.
namespace lsecheck {

// What it gives is due within class_errors() of its class (recorded_error_model.h), special values left out: a row with
// NaN or +inf among its LSEs, an element with NaN or Inf under a non-empty partition, and rows for which the class has
// no finite bound may hold anything.
class PluginKernel final : public CombineKernel {
 public:
  // Throws as describe_plugin() does. The plugin outlives it. environment: what the plugin expects of the processor.
  PluginKernel(const lsecheck_plugin* plugin, const std::fenv_t& environment);

  const PluginDescription& description() const { return description_; }
  // Whether some plugin's function is running now, in this process.
  static bool in_call();

  std::string_view name() const override { return "plugin"; }
  std::string_view summary() const override { return description_.name; }
  std::span<const int> depths() const override { return description_.depths; }
  int p_max() const override { return description_.max_partitions; }
  std::string partition_counts() const override;
  bool supports_types(DType out, DType partial) const override;
  bool has_cuda_build() const override { return false; }
  std::optional<std::string> refuse(const CombineShape& shape) const override;
  std::optional<int> launchable_partitions(const CombineShape& shape) const override;
  bool takes_sink() const override { return false; }
  bool drops_garbage() const override { return description_.drops_garbage; }
  std::span<const ExponentForm> exponent_forms() const override { return {&exponent_, 1}; }
  bool single_partition_exact() const override { return false; }
  bool trailing_empties_exact() const override { return false; }
  bool shift_exact() const override { return false; }
  bool rescales_sums() const override { return true; }  // ONLINE does

  std::vector<KernelVariant> variants(const CombineShape& shape) const override;
  // One call at a time, on copies between bands of NaN bits: what is read there shows in the output, and what is
  // written there is a fault. Options are the executor's, which the plugin knows nothing of.
  std::optional<simt::Fault> launch(const CombineShape& shape, const KernelVariant& variant,
                                    const CombineBuffers& buffers, const ExecutionOptions& options) const override;
  RowExpectation expect(const CombineShape& shape, const KernelVariant& variant, const RowInput& row,
                        sfu::UnitKind unit) const override;
  RowBound bound(const CombineShape& shape, const RowExpectation& row, sfu::UnitKind unit) const override;

 private:
  ErrorModel model_for(DType out) const;

  const lsecheck_plugin* plugin_;
  PluginDescription description_;
  ExponentForm exponent_;
  std::fenv_t environment_;
  mutable std::mutex calls_;
};

}  // namespace lsecheck
