#include "properties/chart_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "properties/case_kernel.h"
#include "properties/chart_bins.h"
#include "reference/metric_grid.h"

namespace lsecheck {
namespace {

// Of the exponents of the partitions that are not empty; in the kernel's own units.
struct ExponentRange {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
};

// Flushed weights, values or masses at the ends of the format cost so much that what the magnitude costs cannot be seen
// beside it.
constexpr double kMagnitudeChartSpread = 100;
bool is_ordinary(const CaseSpec& spec, const ExponentRange& range) {
  const bool extreme_values = spec.values == ValueRegime::huge || spec.values == ValueRegime::subnormal;
  const bool extreme_masses = spec.mass == MassRegime::spread || spec.mass == MassRegime::tiny;
  return range.largest - range.smallest <= kMagnitudeChartSpread && !extreme_values && !extreme_masses;
}

ExponentRange exponent_range(const CaseTensors& tensors, bool empty_by_mass, std::size_t row_head) {
  ExponentRange range;
  for (std::size_t p = 0; p < tensors.spec.num_partitions; ++p) {
    const std::size_t i = tensors.lse_index(p, row_head);
    const double exponent = tensors.lse_partial[i];
    if (!std::isfinite(exponent) || (empty_by_mass && tensors.mass_partial[i] == 0)) continue;
    range.smallest = std::min(range.smallest, exponent);
    range.largest = std::max(range.largest, exponent);
  }
  return range;
}

// The graded elements of one row-head; nullopt: none.
std::optional<ChartRow> chart_row(const CaseTensors& tensors, const AccuracyMeasurement& measured,
                                  std::size_t row_head) {
  const std::size_t columns = columns_of(tensors.spec);
  ChartRow row;
  for (std::size_t d = 0; d < columns; ++d) {
    const std::size_t i = row_head * columns + d;
    if (!measured.grades.graded[i]) continue;
    row.row_heads = 1;
    const ElementGrade& grade = measured.grades.grades[i];
    if (grade.scaled_ulp > row.scaled_ulp.value) {
      row.scaled_ulp.value = grade.scaled_ulp;
      row.scaled_ulp.depth_index = static_cast<std::uint32_t>(d);
      row.scaled_ulp.got_bits = measured.out_bits[i];
      row.scaled_ulp.correctly_rounded_bits = grade.correctly_rounded;
    }
    if (std::isfinite(grade.bound_use) && std::isfinite(grade.scaled_ulp)) {
      // A bound_use that is reported as 0 is at most its cell's top, so the bound is at least this quotient.
      row.largest_bound = std::max(row.largest_bound, grade.scaled_ulp / metric_cell_top(grade.bound_use));
    }
  }
  row.scaled_ulp.row_head = row_head;
  return row.row_heads > 0 ? std::optional(row) : std::nullopt;
}

}  // namespace

void add_charts(RunResults& results, const CaseTensors& tensors, const AccuracyMeasurement& measured,
                const StatKey& key, std::uint64_t case_index, const std::string& token) {
  const bool empty_by_mass = kernel_of(tensors.spec).empty_by_mass();
  for (std::size_t row_head = 0; row_head < tensors.spec.rows_heads(); ++row_head) {
    const ExponentRange range = exponent_range(tensors, empty_by_mass, row_head);
    std::optional<ChartRow> row = chart_row(tensors, measured, row_head);
    if (!row || range.largest < range.smallest) continue;
    row->scaled_ulp.case_index = case_index;
    row->scaled_ulp.token = token;
    const auto p_bin = static_cast<std::uint32_t>(partition_bin(tensors.spec.num_partitions));
    const auto spread_bin = static_cast<std::uint32_t>(magnitude_bin(range.largest - range.smallest));
    const auto largest_bin = static_cast<std::uint32_t>(magnitude_bin(range.largest));
    results.charts[{"spread", key.kernel, key.unit, key.out, p_bin, spread_bin}].merge(*row);
    if (!is_ordinary(tensors.spec, range)) continue;
    results.charts[{"magnitude", key.kernel, key.unit, key.out, largest_bin, 0}].merge(*row);
  }
}

}  // namespace lsecheck
