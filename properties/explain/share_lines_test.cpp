#include "properties/explain/share_lines.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lsecheck {
namespace {

std::string lines_of(std::vector<ErrorShare> shares) {
  ExplainedElement element;
  element.shares = std::move(shares);
  return share_lines(element);
}

TEST(ShareLines, TheLargestInTheOrderOfTheStepsAndTheOthersTogether) {
  EXPECT_EQ(lines_of({{"a", 0.25}, {"b", -1e6}, {"c", 0.5}, {"d", 2}, {"e", -0.125}, {"f", 3}, {"g", 0}}),
            "what each step brings in, in ulp:\n"
            "  -1e+06  b\n"
            "  +0.5  c\n"
            "  +2  d\n"
            "  +3  f\n"
            "  +0.125  the other steps");
}

TEST(ShareLines, NothingIsSaidOfStepsWithoutError) {
  EXPECT_EQ(lines_of({{"a", 0}, {"b", -0.5}}), "what each step brings in, in ulp:\n  -0.5  b");
  EXPECT_EQ(lines_of({{"a", 0}, {"b", 0}}), "");
}

TEST(ShareLines, AStoredNanComesFirst) {
  const std::string lines = lines_of({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"not in the contract", NAN}});
  EXPECT_EQ(lines,
            "what each step brings in, in ulp:\n  +1  a\n  +1  b\n  +1  c\n  +nan  not in the contract\n"
            "  +1  the other steps");
}

}  // namespace
}  // namespace lsecheck
