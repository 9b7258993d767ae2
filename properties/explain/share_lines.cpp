#include "properties/explain/share_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lsecheck {
namespace {

constexpr std::size_t kSharesShown = 4;

// A NaN, which a kernel stored in place of a finite value, is larger than every number.
double size_of_share(const ErrorShare& share) {
  return std::isnan(share.ulp) ? INFINITY : std::fabs(share.ulp);
}

}  // namespace

std::string share_lines(const ExplainedElement& element) {
  std::vector<std::size_t> by_size;
  for (std::size_t i = 0; i < element.shares.size(); ++i) {
    if (size_of_share(element.shares[i]) != 0) by_size.push_back(i);
  }
  if (by_size.empty()) return "";
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t one, std::size_t other) {
    return size_of_share(element.shares[one]) > size_of_share(element.shares[other]);
  });
  const auto shown_end = by_size.begin() + static_cast<std::ptrdiff_t>(std::min(by_size.size(), kSharesShown));
  std::sort(by_size.begin(), shown_end);

  std::string text = "what each step brings in, in ulp:";
  for (auto i = by_size.begin(); i != shown_end; ++i) {
    text += fmt::format("\n  {:+.4g}  {}", element.shares[*i].ulp, element.shares[*i].step);
  }
  if (shown_end == by_size.end()) return text;
  double others = 0;
  for (auto i = shown_end; i != by_size.end(); ++i) others += element.shares[*i].ulp;
  return text + fmt::format("\n  {:+.4g}  the other steps", others);
}

}  // namespace lsecheck
