#include "properties/law_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/tensor_edits.h"
#include "reference/bound_arithmetic.h"
#include "reference/elementary.h"
#include "reference/sink_exponent.h"

namespace lsecheck {

PhiloxStream law_stream(const CaseTensors& tensors, LawId law) {
  constexpr std::uint32_t kPurposeLaw = 0x4c617773;  // apart from the purposes of case_rows.h and case_draw.cpp
  return {tensors.spec.seed, kPurposeLaw, static_cast<std::uint64_t>(law)};
}

std::optional<std::string> graded_run_fault(const CaseTensors& tensors, Reference& reference, const std::string& what) {
  std::optional<AccuracyMeasurement> measurement;
  const LawOutcome outcome = check_accuracy(tensors, reference, measurement);
  if (outcome.status == LawOutcome::Status::holds) return std::nullopt;
  return fmt::format("{}: {}", what, outcome.message);
}

std::uint32_t canonical(DType type, std::uint32_t bits) {
  if (is_nan(type, bits)) return type == DType::f32 ? 0x7fffffffU : 0x7fffU;
  return decode(type, bits) == 0 ? 0 : bits;
}

std::optional<std::string> first_difference(DType type, std::size_t columns, const std::vector<std::uint32_t>& expected,
                                            const std::vector<std::uint32_t>& got, BitComparison comparison) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool same = comparison == BitComparison::every_bit ? expected[i] == got[i]
                                                             : canonical(type, expected[i]) == canonical(type, got[i]);
    if (!same) {
      return fmt::format("row-head {}, d {}: {} became {}", i / columns, i % columns, describe_value(type, expected[i]),
                         describe_value(type, got[i]));
    }
  }
  return std::nullopt;
}

bool has_special_input(const CaseTensors& tensors) {
  const auto is_special_exponent = [](float x) { return std::isnan(x) || x == INFINITY; };
  const auto& x = tensors.lse_partial;
  const auto& l = tensors.mass_partial;
  return std::any_of(x.begin(), x.end(), is_special_exponent) ||
         std::any_of(l.begin(), l.end(), [](float mass) { return !std::isfinite(mass); });
}

bool row_is_empty(const CaseTensors& tensors, std::size_t row_head) {
  for (std::size_t p = 0; p < tensors.spec.num_partitions; ++p) {
    if (!is_empty(tensors, tensors.lse_index(p, row_head))) return false;
  }
  return true;
}

std::vector<double> weights_up(const RowProblem& row) {
  constexpr double kLog2e = 0x1.71547652b82fep+0;
  const double m = *std::max_element(row.x.begin(), row.x.end());
  std::vector<double> weights;
  weights.reserve(row.x.size());
  double sum = 0;
  for (std::size_t p = 0; p < row.x.size(); ++p) {
    const double exponent = row.base == ExponentBase::natural ? (row.x[p] - m) * kLog2e : row.x[p] - m;
    weights.push_back(exp2_double(exponent));
    if (row.x[p] != -INFINITY) sum += row.l.empty() ? weights.back() : weights.back() * row.l[p];
  }
  // A sink beyond every double leaves weights of 0, which the absolute part covers.
  if (row.sink) sum += exp2_double(sink_exponent_above(*row.sink, m));
  // exp2_double errs by 2^-50, the rounding of the exponent by less than 2^-41 where the weight is above 2^-1000; the
  // absolute part covers smaller ones. An empty partition's weight is exactly 0.
  for (std::size_t p = 0; p < row.x.size(); ++p) {
    if (row.x[p] != -INFINITY) weights[p] = add_up(mul_up(weights[p] / sum, 1 + 0x1p-39), 0x1p-990);
  }
  return weights;
}

}  // namespace lsecheck
