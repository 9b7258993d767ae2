#include "kernels/pair_sweep.h"

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "kernels/combine_kernel.h"
#include "kernels/registry.h"

namespace lsecheck {

namespace {

constexpr std::uint32_t kRowsPerLaunch = 1024;

// Adds one row's outputs, as the device's tally does.
void add_pair(PairSweepResult& result, std::uint32_t lse_1_bits, const float (&y)[kPairColumns]) {
  const float x = float_from_bits(lse_1_bits);
  if (!std::isfinite(x)) {
    ++result.special;
    result.special_violations += !pair_special_holds(x, y);
    return;
  }
  ++result.finite;
  const PairErrors errors = pair_errors(x, y);
  const auto raise = [lse_1_bits](PairMaximum& maximum, float value) {
    if (value < maximum.scaled_ulp || (value == maximum.scaled_ulp && lse_1_bits < maximum.lse_1_bits)) return;
    maximum = {value, lse_1_bits};
  };
  for (std::size_t i = 0; i < kPairColumns; ++i) {
    raise(result.all[i], errors.scaled_ulp[i]);
    if (std::fabs(x) <= kPairOrdinary) raise(result.ordinary[i], errors.scaled_ulp[i]);
  }
}

// One launch over the given values of lse_1.
void add_launch(PairSweepResult& result, const CombineKernel& kernel, const std::vector<std::uint32_t>& lse_1_bits) {
  CombineShape shape{Arch::sm_90, 2,         static_cast<std::uint32_t>(lse_1_bits.size()), 1, kernel.depths().front(),
                     DType::f32,  DType::f32};
  std::vector<KernelVariant> variants = kernel.variants(shape);
  // The run-time kernel where there is one; its bits are those of the rung.
  KernelVariant variant = variants.front();
  for (const KernelVariant& one : variants) {
    if (one.name == "runtime") variant = one;
  }
  const std::size_t rows = lse_1_bits.size();
  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  std::vector<float> lse(2 * rows, 0.0F);
  std::memcpy(lse.data() + rows, lse_1_bits.data(), rows * sizeof(float));
  std::vector<float> o(2 * rows * depth);
  for (std::size_t i = 0; i < o.size(); ++i) {
    o[i] = static_cast<float>(kPairValues[i % kPairColumns][i / (rows * depth)]);
  }
  std::vector<float> out(rows * depth);
  ExecutionOptions options;
  options.unit = {};
  const auto fault = kernel.launch(shape, variant,
                                   {.lse_partial = std::as_bytes(std::span(lse)),
                                    .o_partial = std::as_bytes(std::span(o)),
                                    .output = std::as_writable_bytes(std::span(out))},
                                   options);
  if (fault) throw std::runtime_error(fault->message);
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const y = out.data() + row * depth;
    add_pair(result, lse_1_bits[row], {y[0], y[1], y[2], y[3]});
    bool equal = true;
    for (std::size_t d = kPairColumns; d < depth; ++d) {
      equal = equal && bits_of(y[d]) == bits_of(y[d % kPairColumns]);
    }
    result.column_mismatches += !equal;
  }
}

}  // namespace

PairSweepResult sweep_pairs_on_cpu(std::string_view name, std::uint32_t stride) {
  const CombineKernel& kernel = *find_kernel(name);
  PairSweepResult result;
  std::vector<std::uint32_t> bits;
  for (std::uint64_t next = 0; next < (std::uint64_t{1} << 32); next += stride) {
    bits.push_back(static_cast<std::uint32_t>(next));
    if (bits.size() < kRowsPerLaunch) continue;
    add_launch(result, kernel, bits);
    bits.clear();
  }
  if (!bits.empty()) add_launch(result, kernel, bits);
  return result;
}

}  // namespace lsecheck
