#include "kernels/sm100/fa4_ws_combine_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/sm100/executor_launch.h"
#include "kernels/sm100/fa4_ws_bound.h"
#include "kernels/sm100/fa4_ws_instances.h"
#include "kernels/sm100/fa4_ws_row_contract.h"

namespace lsecheck::sm100 {

namespace {

class Fa4WsKernel final : public CombineKernel {
 public:
  Fa4WsKernel(Fa4WsLevel level, std::string_view name, std::string_view summary)
      : level_(level), name_(name), summary_(summary) {
    for (const Fa4WsInstance& instance : fa4_ws_instances()) {
      if (instance.level != level) continue;
      add(depths_, instance.ov_depth);
      add(partitions_, instance.num_partitions);
    }
  }

  std::string_view name() const override { return name_; }
  std::string_view summary() const override { return summary_; }
  std::span<const int> depths() const override { return depths_; }
  int p_max() const override { return partitions_.back(); }
  std::string partition_counts() const override { return fmt::format("{}", fmt::join(partitions_, ", ")); }
  bool supports_types(DType out, DType partial) const override {
    return partial == DType::f32 && (out == DType::f32 || level_ != Fa4WsLevel::level1);
  }
  bool has_cuda_build() const override { return true; }
  bool takes_sink() const override { return false; }
  bool takes_masses() const override { return true; }
  bool partials_normalised() const override { return false; }
  bool drops_garbage() const override { return false; }
  bool divides_by_mass() const override { return level_ != Fa4WsLevel::level1; }
  std::span<const ExponentForm> exponent_forms() const override {
    static constexpr ExponentForm kForms[] = {ExponentForm::scaled, ExponentForm::log2};
    return kForms;
  }
  std::size_t output_columns(const CombineShape& shape) const override {
    return static_cast<std::size_t>(shape.ov_depth) + (level_ == Fa4WsLevel::level1 ? 2 : 0);
  }
  // A partition more is another m_pack, which adds the masses in another order.
  bool trailing_empties_exact() const override { return false; }
  // Level 1 returns m itself, which the shift moves.
  bool shift_exact() const override { return level_ != Fa4WsLevel::level1; }
  bool rescales_sums() const override { return level_ == Fa4WsLevel::two_level; }

  std::optional<std::string> refuse(const CombineShape& shape) const override {
    if (!supports_types(shape.out, shape.partial)) {
      return fmt::format("partials {} with output {}: {} takes partials f32{}", name_of(shape.partial),
                         name_of(shape.out), name_, level_ == Fa4WsLevel::level1 ? " and returns f32" : "");
    }
    if (std::find(depths_.begin(), depths_.end(), shape.ov_depth) == depths_.end()) {
      return fmt::format("ov_depth = {}: {} is compiled for {}", shape.ov_depth, name_, fmt::join(depths_, ", "));
    }
    if (instances_of(shape).empty()) {
      return fmt::format("num_partitions = {}: {} is compiled for {}", shape.num_partitions, name_, partition_counts());
    }
    if (shape.exponent == ExponentForm::natural) {
      return fmt::format("natural exponents: {} takes scaled or log2 ones", name_);
    }
    // A subnormal scale would be flushed to 0, and every weight be 1.
    if (shape.exponent == ExponentForm::scaled &&
        !(shape.exponent_scale >= 0x1p-126F && shape.exponent_scale <= std::numeric_limits<float>::max())) {
      return fmt::format("exponent scale = {}: {} multiplies by a positive, finite, normal f32", shape.exponent_scale,
                         name_);
    }
    if (shape.rows_heads() < 1 || shape.rows_heads() > 0xffffffffU) {
      return fmt::format("rows * heads = {}: {} counts them in 32 bits, 1 to 4294967295", shape.rows_heads(), name_);
    }
    return std::nullopt;
  }

  std::optional<int> launchable_partitions(const CombineShape& shape) const override {
    for (const int partitions : partitions_) {
      CombineShape candidate = shape;
      candidate.num_partitions = partitions;
      if (partitions >= shape.num_partitions && !refuse(candidate)) return partitions;
    }
    return std::nullopt;
  }

  std::vector<KernelVariant> variants(const CombineShape& shape) const override {
    std::vector<KernelVariant> result;
    for (const Fa4WsInstance* instance : instances_of(shape)) {
      KernelVariant variant;
      variant.name = fmt::format("mpack{}", instance->m_pack);
      variant.p_static = instance->num_partitions;
      variant.m_pack = instance->m_pack;
      result.push_back(std::move(variant));
    }
    return result;
  }

  std::optional<simt::Fault> launch(const CombineShape& shape, const KernelVariant& variant,
                                    const CombineBuffers& buffers, const ExecutionOptions& options) const override {
    if (options.backend == Backend::cuda) return cuda::launch(name(), shape, variant, buffers);
    const Fa4WsInstance& instance =
        *find_fa4_ws_instance(level_, shape.out, shape.ov_depth, variant.m_pack, shape.num_partitions);
    Fa4WsArguments arguments;
    arguments.max_partial = reinterpret_cast<const float*>(buffers.lse_partial.data());
    arguments.mass_partial = reinterpret_cast<const float*>(buffers.mass_partial.data());
    arguments.o_partial = reinterpret_cast<const float*>(buffers.o_partial.data());
    arguments.output = buffers.output.data();
    arguments.rows_heads = static_cast<std::uint32_t>(shape.rows_heads());
    arguments.use_fma = shape.exponent == ExponentForm::scaled;
    arguments.scale_log2e = shape.exponent_scale;

    simt::Launch launch = launch_as(options, shape.arch);
    launch.kernel = fmt::format("{}<{}, {}, {}, {}>", name_, name_of(shape.out), shape.ov_depth, shape.num_partitions,
                                variant.name);
    launch.grid = {static_cast<std::uint32_t>((shape.rows_heads() + instance.rows - 1) / instance.rows), 1, 1};
    launch.block = {instance.threads, 1, 1};
    launch.buffers = {input("o_partial", buffers.o_partial), input("lse_partial", buffers.lse_partial),
                      input("mass_partial", buffers.mass_partial), output("output", buffers.output)};
    return simt::run(launch, [&] { instance.thread_body(arguments); });
  }

  RowExpectation expect(const CombineShape& shape, const KernelVariant&, const RowInput& row,
                        sfu::UnitKind unit) const override {
    return fa4_ws_expectation(level_, shape, row, sfu::accuracy_of(unit));
  }

  RowBound bound(const CombineShape& shape, const RowExpectation& row, sfu::UnitKind unit) const override {
    return fa4_ws_row_bound(level_, shape, row, sfu::accuracy_of(unit));
  }

 private:
  static void add(std::vector<int>& sorted, int value) {
    const auto place = std::lower_bound(sorted.begin(), sorted.end(), value);
    if (place == sorted.end() || *place != value) sorted.insert(place, value);
  }

  // Production's first.
  std::vector<const Fa4WsInstance*> instances_of(const CombineShape& shape) const {
    std::vector<const Fa4WsInstance*> result;
    for (const int m_pack : kFa4WsMPacks) {
      if (const auto* instance =
              find_fa4_ws_instance(level_, shape.out, shape.ov_depth, m_pack, shape.num_partitions)) {
        result.push_back(instance);
      }
    }
    return result;
  }

  Fa4WsLevel level_;
  std::string_view name_;
  std::string_view summary_;
  std::vector<int> depths_;
  std::vector<int> partitions_;
};

}  // namespace

const CombineKernel& fa4_ws_intracta_combine_kernel() {
  static const Fa4WsKernel kernel(Fa4WsLevel::intracta, "fa4_ws_intracta_combine",
                                  "in-CTA combine of one warpgroup's key halves or quarters");
  return kernel;
}

const CombineKernel& fa4_ws_level1_combine_kernel() {
  static const Fa4WsKernel kernel(Fa4WsLevel::level1, "fa4_ws_level1_combine",
                                  "in-CTA combine, level 1: a warpgroup's sums, mass and maximum, unnormalised");
  return kernel;
}

const CombineKernel& fa4_ws_level2_reduce_scatter_write_kernel() {
  static const Fa4WsKernel kernel(Fa4WsLevel::level2, "fa4_ws_level2_reduce_scatter_write",
                                  "in-CTA combine, level 2: two warpgroups' sums, or one that worked alone");
  return kernel;
}

const CombineKernel& fa4_ws_two_level_combine_kernel() {
  static const Fa4WsKernel kernel(Fa4WsLevel::two_level, "fa4_ws_two_level_combine",
                                  "in-CTA combine, level 1 in each of two warpgroups, then level 2");
  return kernel;
}

}  // namespace lsecheck::sm100
