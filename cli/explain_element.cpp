#include "cli/explain_element.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/grade_case.h"
#include "reports/text_table.h"

namespace lsecheck::cli {
namespace {

constexpr std::size_t kPartitionsShown = 24;

std::vector<std::string> value_row(const std::string& name, const ExplainedValue& value) {
  return {name, fmt::format("{:.9g}", value.kernel), fmt::format("{:.12g}", value.exact),
          fmt::format("{:.3g}", value.error)};
}

std::string values_text(const ExplainedElement& why, DType out) {
  TextTable table({"", "kernel", "exact", "error"}, 1);
  for (const NamedValue& one : why.values) table.add(value_row(one.name, one.value));
  table.add({"out", describe_value(out, why.contract_bits), fmt::format("{:.12g}", why.exact),
             fmt::format("{:.3g}", decode(out, why.contract_bits) - why.exact)});
  return table.str();
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

std::string partitions_text(const ExplainedElement& why) {
  TextTable table({"p", "exponent", "mass", "o", "weight", "exact", "error", "sum so far", "exact sum", "error"}, 0);
  for (const ExplainedPartition& one : largest_terms(why.partitions)) {
    table.add({std::to_string(one.p), fmt::format("{:.9g}", one.exponent),
               one.mass ? fmt::format("{:.9g}", *one.mass) : "1", fmt::format("{:.9g}", one.o),
               fmt::format("{:.9g}", one.weight.kernel), fmt::format("{:.9g}", one.weight.exact),
               fmt::format("{:.3g}", one.weight.error), fmt::format("{:.9g}", one.partial_sum.kernel),
               fmt::format("{:.9g}", one.partial_sum.exact), fmt::format("{:.3g}", one.partial_sum.error)});
  }
  if (why.partitions.size() <= kPartitionsShown) return table.str();
  return table.str() +
         fmt::format("  {} partitions with smaller terms are not shown\n", why.partitions.size() - kPartitionsShown);
}

std::string shares_text(const ExplainedElement& why) {
  TextTable table({"step", "share of the error, ulp"}, 1);
  for (const ErrorShare& share : why.shares) table.add({share.step, fmt::format("{:+.4g}", share.ulp)});
  table.add({"all", fmt::format("{:+.4g}", why.total_ulp)});
  return table.str();
}

}  // namespace

std::string explanation_text(const ExplainedElement& why, DType out) {
  std::string text =
      fmt::format("explain  row-head {}, d {}: the element with the largest bound_use\n", why.row_head, why.column) +
      values_text(why, out) + partitions_text(why) + shares_text(why);
  if (why.stored_bits != why.contract_bits) {
    text += fmt::format(
        "         DIFFERS: the kernel stored {}, the steps of its contract give {}: it does something else\n",
        describe_value(out, why.stored_bits), describe_value(out, why.contract_bits));
  }
  return text;
}

}  // namespace lsecheck::cli
