#include "cli/explain_element.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "properties/case_kernel.h"
#include "properties/explain_fa4.h"
#include "properties/grade_case.h"
#include "reports/text_table.h"

namespace lsecheck::cli {
namespace {

constexpr std::size_t kPartitionsShown = 24;

// The graded element with the largest bound_use that has a finite output.
std::optional<std::size_t> worst_element(const CaseTensors& tensors, const AccuracyMeasurement& measured) {
  std::optional<std::size_t> worst;
  for (std::size_t i = 0; i < measured.out_bits.size(); ++i) {
    if (!measured.grades.graded[i] || !is_finite(tensors.spec.out, measured.out_bits[i])) continue;
    if (!worst || measured.grades.grades[i].bound_use > measured.grades.grades[*worst].bound_use) worst = i;
  }
  return worst;
}

std::vector<std::string> value_row(const std::string& name, const ExplainedValue& value) {
  return {name, fmt::format("{:.9g}", value.kernel), fmt::format("{:.12g}", value.exact),
          fmt::format("{:.3g}", value.error)};
}

// The partitions with the largest terms, in the order in which they are folded.
std::vector<ExplainedPartition> largest_terms(const std::vector<ExplainedPartition>& all) {
  std::vector<ExplainedPartition> kept = all;
  const auto term = [](const ExplainedPartition& one) { return std::fabs(one.weight.exact * one.o); };
  std::stable_sort(kept.begin(), kept.end(),
                   [&](const auto& one, const auto& other) { return term(one) > term(other); });
  kept.resize(std::min(kept.size(), kPartitionsShown));
  std::sort(kept.begin(), kept.end(), [](const auto& one, const auto& other) { return one.p < other.p; });
  return kept;
}

void print_partitions(const Fa4Explanation& why) {
  TextTable table({"p", "lse", "o", "w", "exact w", "error", "sum so far", "exact sum", "error"}, 0);
  for (const ExplainedPartition& one : largest_terms(why.partitions)) {
    table.add({std::to_string(one.p), fmt::format("{:.9g}", one.lse), fmt::format("{:.9g}", one.o),
               fmt::format("{:.9g}", one.weight.kernel), fmt::format("{:.9g}", one.weight.exact),
               fmt::format("{:.3g}", one.weight.error), fmt::format("{:.9g}", one.partial_sum.kernel),
               fmt::format("{:.9g}", one.partial_sum.exact), fmt::format("{:.3g}", one.partial_sum.error)});
  }
  fmt::print("{}", table.str());
  if (why.partitions.size() > kPartitionsShown) {
    fmt::print("  {} partitions with smaller terms are not shown\n", why.partitions.size() - kPartitionsShown);
  }
}

void print_shares(const ErrorShares& ulp) {
  TextTable table({"step", "share of the error, ulp"}, 1);
  table.add({"s: ex2 of each lse - m, and their sum", fmt::format("{:+.4g}", ulp.sum)});
  table.add({"g = lg2(s) + m", fmt::format("{:+.4g}", ulp.global_lse)});
  table.add({"w = ex2(lse - g)", fmt::format("{:+.4g}", ulp.weights)});
  table.add({"fma over the partitions", fmt::format("{:+.4g}", ulp.folding)});
  table.add({"cast to the output type", fmt::format("{:+.4g}", ulp.cast)});
  table.add({"all", fmt::format("{:+.4g}", ulp.total)});
  fmt::print("{}", table.str());
}

}  // namespace

void print_explanation(const CaseTensors& tensors, const AccuracyMeasurement& measured) {
  if (tensors.spec.kernel != KernelId::fa4_splitk_combine) {
    fmt::print("explain  only fa4_splitk_combine is taken apart so far, this is {}\n", name_of(tensors.spec.kernel));
    return;
  }
  const std::optional<std::size_t> element = worst_element(tensors, measured);
  if (!element) {
    fmt::print("explain  no element of the case is graded: there is no finite value to take apart\n");
    return;
  }
  const std::size_t columns = columns_of(tensors.spec);
  const DType out = tensors.spec.out;
  const Fa4Explanation why = explain_fa4(tensors, *element / columns, *element % columns);
  const std::uint32_t got = measured.out_bits[*element];
  fmt::print("explain  row-head {}, d {}: the element with the largest bound_use\n", *element / columns,
             *element % columns);
  TextTable table({"", "kernel", "exact", "error"}, 1);
  table.add({"m", fmt::format("{:.9g}", why.m), fmt::format("{:.9g}", why.m), "0"});
  table.add(value_row("s", why.s));
  table.add(value_row("g", why.g));
  table.add({"out", describe_value(out, why.out_bits), fmt::format("{:.12g}", why.exact),
             fmt::format("{:.3g}", decode(out, why.out_bits) - why.exact)});
  fmt::print("{}", table.str());
  print_partitions(why);
  print_shares(why.ulp);
  if (got != why.out_bits) {
    fmt::print("         DIFFERS: the kernel stored {}, the steps of its contract give {}: it does something else\n",
               describe_value(out, got), describe_value(out, why.out_bits));
  }
}

}  // namespace lsecheck::cli
