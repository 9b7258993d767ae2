#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/case_spec.h"
#include "properties/case_tensors.h"
#include "properties/results.h"
#include "reference/grade.h"

// Law distribution: the mean signed error, upward and away from zero, and the share of correctly rounded elements, per
// kernel, output type and LSE regime, against values on record. It sees what no bound forbids: a rounding that leans to
// one side. (Weights that do so move values of both signs away from zero, which leaves the upward mean alone.)
//
// The unit is a row-head, not an element: the elements of a row share its weights, and with them most of their error.
// A sample is one case of many row-heads, empties and sink left out. Its row-heads draw from streams of their own
// (case_rows.h), everything that a case shares is fixed, so they are independent and identically distributed. That
// leaves out the regimes attention, whose rows share a launch, and policy, which is not graded.
//
// Row i gives u_i and v_i, the means over its columns of the error in ulp, cut at +-1, upward and away from zero, and
// c_i, the share of its columns that are correctly rounded; columns that are not graded count as exact. u_i and v_i lie
// in an interval of length 2, c_i in one of length 1. For n rows now and N on record, independent of each other,
// Hoeffding's inequality for the sum of independent bounded variables gives for the difference of the two means
//   P(abs(difference) >= t) <= 2 exp(-2 t^2 / (length^2 (1/n + 1/N))),
// which is 2 exp(-kLogRate) for t = length sqrt(kLogRate / 2 (1/n + 1/N)). With kLogRate = 22 one of the three
// questions is answered wrongly with probability below 5.6e-10, and any of the at most 8 kernels * 3 types * 7 regimes
// * 3 questions of a run below 2.9e-7 (union bound; independence of the samples is not needed for it).
namespace lsecheck {

inline constexpr double kLogRate = 22;

struct DistributionKey {
  std::string kernel;
  std::string out;
  std::string regime;

  auto operator<=>(const DistributionKey&) const = default;
};

// Sums over the rows, exact: errors are on the grid of metric_grid.h.
struct DistributionRow {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;  // of a row
  // Sums of the elements' errors, each cut at +-1 ulp, in units of 2^-20 ulp.
  std::int64_t upward = 0;
  std::int64_t outward = 0;  // away from zero
  std::uint64_t correctly_rounded = 0;

  double mean_upward() const;   // ulp
  double mean_outward() const;  // ulp
  double share_correct() const;
  bool operator==(const DistributionRow&) const = default;
};

using DistributionRows = std::map<DistributionKey, DistributionRow>;

// The samples of a kernel. Those on record and those of a run with any seed share no row-head.
enum class SampleUse : std::uint8_t { run, record };
std::vector<CaseSpec> distribution_samples(KernelId kernel, std::uint64_t seed, SampleUse use);

DistributionKey distribution_key(const CaseSpec& sample);

// Runs and grades a sample; nullopt where the executor stops the kernel.
std::optional<DistributionRow> measure_distribution(const CaseTensors& sample, Reference& reference);

// What differs by more than chance allows, in a line; nullopt: nothing does.
std::optional<std::string> distribution_shift(const DistributionRow& recorded, const DistributionRow& now);

// The rows of law distribution for one kernel of a run with this seed, and a failure for each sample that fails.
RunResults check_distribution_of_kernel(KernelId kernel, std::uint64_t seed, const DistributionRows& recorded);

// Every kernel's record, from samples of `seed`.
DistributionRows measure_record(std::uint64_t seed);

// One line a row: KERNEL OUT REGIME ROWS COLUMNS UPWARD OUTWARD CORRECTLY_ROUNDED, then "#" and the three means for
// people.
std::string distribution_text(const DistributionRows& rows);
// Throws std::invalid_argument, which names the line.
DistributionRows parse_distribution(std::string_view text);

// The record that this program was built with.
const DistributionRows& recorded_distribution();

}  // namespace lsecheck
