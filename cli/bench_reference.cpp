#include "cli/bench_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "cli/bench_seconds.h"
#include "properties/case_draw.h"
#include "properties/case_expand.h"
#include "properties/grade_case.h"
#include "properties/run_case.h"
#include "properties/tensor_edits.h"
#include "reference/certified_reference.h"

namespace lsecheck::cli {
namespace {

constexpr std::uint32_t kRows = 20;
constexpr std::uint64_t kTierCases = 480;

// Rows of one case with the kernel's output, ready to be graded.
struct GradedRows {
  CaseTensors tensors;
  std::vector<std::uint32_t> bits;
  std::vector<RowVerdictInput> rows;
};

GradedRows rows_to_grade(DType type, int num_partitions, int ov_depth) {
  CaseSpec spec;
  spec.num_partitions = static_cast<std::uint16_t>(num_partitions);
  spec.ov_depth = static_cast<std::uint16_t>(ov_depth);
  spec.rows = kRows;
  spec.out = spec.partial = type;
  spec.seed = 1;
  GradedRows graded{expand(spec), {}, {}};
  graded.bits = run_kernel(graded.tensors).out_bits;
  for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
    graded.rows.push_back(row_verdict_input(graded.tensors, variant_of(spec), rh));
  }
  return graded;
}

// Seconds per row-head; the rows are graded `rounds` times in each timed run.
double grading_seconds(const GradedRows& graded, Reference& reference, int repeats, int rounds) {
  const std::size_t depth = graded.tensors.spec.ov_depth;
  std::vector<ElementGrade> grades(depth);
  const double seconds = median_seconds(repeats, [&] {
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t rh = 0; rh < graded.rows.size(); ++rh) {
        const RowVerdictInput& row = graded.rows[rh];
        reference.grade_row(row.expectation.problem(),
                            {graded.tensors.spec.out, std::span(graded.bits).subspan(rh * depth, depth),
                             row.bound.bound, row.bound.inf_allowed},
                            grades);
      }
    }
  });
  return seconds / rounds / static_cast<double>(graded.rows.size());
}

// N[d] and sum w abs(a) of every row in plain Boost.Multiprecision at 256 bits, and no grade.
double boost_256_seconds(const GradedRows& graded, int repeats) {
  using Real = boost::multiprecision::number<
      boost::multiprecision::mpfr_float_backend<77, boost::multiprecision::allocate_stack>>;
  const CaseTensors& tensors = graded.tensors;
  const CaseSpec& spec = tensors.spec;
  const double seconds = median_seconds(repeats, [&] {
    for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
      std::vector<Real> sum(spec.ov_depth);
      std::vector<Real> size(spec.ov_depth);
      for (std::size_t p = 0; p < spec.num_partitions; ++p) {
        const Real weight = exp2(Real(tensors.lse_partial[tensors.lse_index(p, rh)]));
        for (std::size_t d = 0; d < spec.ov_depth; ++d) {
          const double value = decode(spec.partial, tensors.o_partial[tensors.o_index(p, rh, d)]);
          sum[d] += weight * value;
          size[d] += weight * std::abs(value);
        }
      }
    }
  });
  return seconds / static_cast<double>(spec.rows_heads());
}

void print_costs(DType type, int num_partitions, int ov_depth, int repeats) {
  const GradedRows graded = rows_to_grade(type, num_partitions, ov_depth);
  const double certified = grading_seconds(graded, *make_certified_reference(), repeats, 100);
  const double exact = grading_seconds(graded, *make_exact_reference(), repeats, 1);
  const double boost = boost_256_seconds(graded, repeats);
  const std::string name(name_of(type));
  const auto line = [&](const char* what, double seconds) {
    fmt::print("{:<46}{:>14.2f}{:>18.0f}{:>12.0f}\n", fmt::format("{}, {} output", what, name), seconds * 1e6,
               1 / seconds, seconds / certified);
  };
  line("certified reference, every metric", certified);
  line("exact reference, every metric", exact);
  line("Boost MPFR 256 bits, N and C", boost);
}

bool has_ordinary_values(const CaseSpec& spec) {
  return spec.values == ValueRegime::normal || spec.values == ValueRegime::attention;
}

void print_tiers() {
  struct Regime {
    TierCounts ordinary, hard;
  };
  std::map<LseRegime, Regime> regimes;
  for (std::uint64_t i = 0; i < kTierCases; ++i) {
    const CaseSpec spec = draw_spec(1, i, {});
    if (spec.lse == LseRegime::policy) continue;
    const CaseTensors tensors = bucketed(expand(spec));
    Regime& regime = regimes[spec.lse];
    const auto reference = make_certified_reference(has_ordinary_values(spec) ? &regime.ordinary : &regime.hard);
    grade_output(tensors, variant_of(tensors.spec), run_kernel(tensors).out_bits, *reference);
  }
  fmt::print("\nwhere the elements of {} smoke cases were decided: ordinary values | cancelling, constant, huge, ...\n",
             kTierCases);
  fmt::print("{:<20}", "LSE regime");
  for (int i = 0; i < 2; ++i) fmt::print("{:>11}{:>16}{:>16}", "elements", "% past double", "% to exact");
  fmt::print("\n");
  for (const auto& [lse, regime] : regimes) {
    fmt::print("{:<20}", name_of(lse));
    for (const TierCounts& counts : {regime.ordinary, regime.hard}) {
      const double elements = std::max(1.0, static_cast<double>(counts.elements));
      fmt::print("{:>11}{:>16.4f}{:>16.4f}", counts.elements, 100 * static_cast<double>(counts.left_double) / elements,
                 100 * static_cast<double>(counts.left_double_double) / elements);
    }
    fmt::print("\n");
  }
}

}  // namespace

void bench_reference(int num_partitions, int ov_depth, int repeats) {
  fmt::print("\n{:<46}{:>14}{:>18}{:>12}\n", "", "us/row-head", "row-heads/s", "/ certified");
  print_costs(DType::bf16, num_partitions, ov_depth, repeats);
  print_costs(DType::f32, num_partitions, ov_depth, repeats);
  print_tiers();
}

}  // namespace lsecheck::cli
