#include "reference/certified_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/hard_row.h"
#include "reference/test_row.h"

// The certified reference against the exact one: every grade, byte for byte, on rows that are drawn to be hard.
namespace lsecheck {
namespace {

std::string describe(const ElementGrade& grade) {
  char text[300];
  std::snprintf(text, sizeof text, "ulp %a scaled %a use %a signed %a steps %lld rounded %08x within %d undecided %d",
                grade.ulp, grade.scaled_ulp, grade.bound_use, grade.signed_ulp, static_cast<long long>(grade.steps),
                grade.correctly_rounded, grade.within_bound, grade.undecided);
  return text;
}

// Grades by both; a row that one refuses the other has to refuse.
std::vector<ElementGrade> graded(Reference& reference, const HardRow::Drawn& drawn, bool& refused) {
  std::vector<ElementGrade> grades(drawn.out.size());
  refused = false;
  try {
    reference.grade_row(drawn.row.problem(), {drawn.type, drawn.out, drawn.bound, drawn.inf_allowed}, grades);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  return grades;
}

TierCounts expect_equal_grades(std::uint64_t seed, int rows) {
  HardRow hard(seed);
  TierCounts counts;
  const auto certified = make_certified_reference(&counts);
  const auto exact = make_exact_reference();
  int different = 0;
  for (int i = 0; i < rows && different < 5; ++i) {
    const HardRow::Drawn drawn = hard.draw();
    bool refused[2];
    const std::vector<ElementGrade> got = graded(*certified, drawn, refused[0]);
    const std::vector<ElementGrade> due = graded(*exact, drawn, refused[1]);
    EXPECT_EQ(refused[0], refused[1]) << drawn.regime;
    if (refused[0] || refused[1]) continue;
    for (std::size_t d = 0; d < due.size(); ++d) {
      if (got[d] == due[d]) continue;
      ++different;
      ADD_FAILURE() << "row " << i << " (" << drawn.regime << "), element " << d << " of " << name_of(drawn.type)
                    << "\n  certified " << describe(got[d]) << "\n  exact     " << describe(due[d]);
    }
  }
  return counts;
}

TEST(CertifiedReference, GradesAsTheExactOne) {
  const TierCounts counts = expect_equal_grades(11, 4000);
  // Every tier had its share: the comparison means something for each.
  EXPECT_GT(counts.elements - counts.left_double, counts.elements / 3);
  EXPECT_GT(counts.left_double - counts.left_double_double, counts.elements / 50);
  EXPECT_GT(counts.left_double_double, counts.elements / 100);
}

TEST(CertifiedReferenceNightlyTest, GradesAMillionRowsAsTheExactOne) {
  expect_equal_grades(12, 1'000'000);
}

void expect_equal_grade(const Row& row, DType type, double y, double bound) {
  const std::uint32_t bits = round_to_nearest_even(type, y);
  ElementGrade grade;
  make_certified_reference()->grade_row(row.problem(), {type, {&bits, 1}, {&bound, 1}, {}}, {&grade, 1});
  EXPECT_EQ(grade, grade_bits(row, type, bits, bound)) << y << ", bound " << bound;
}

// A power of two, and numbers off it by less than double shows, seen from afar: there the metrics are decided on either
// assumption about the binade.
TEST(CertifiedReference, AtABinadeEdge) {
  for (const double sign : {1.0, -1.0}) {
    for (const double other : {0.0, 1.0, 2.0}) {
      for (const double gap : {-60.5, -200.5, -900.5}) {
        for (const double ulps : {0.0, 1.0, 2049.0, -2049.0, 4099.0}) {
          const double y = sign * (1 + ulps * 0x1p-23);
          expect_equal_grade({{0, gap}, {sign, sign * other}}, DType::f32, y, 0x1p-12);
          // The same where C is in another binade.
          expect_equal_grade({{0, 0, gap}, {4 * sign, -2 * sign, sign * other}}, DType::f32, y, 0x1p-12);
        }
      }
    }
  }
}

// Weights that agree as doubles and differ beyond, down to where double-double cannot tell them apart either, on both
// sides of a midpoint that they would else meet exactly.
TEST(CertifiedReference, WeightsThatHardlyDiffer) {
  for (int k = 2; k <= 70; k += 4) {
    const double x = std::ldexp(1.0, -k);
    for (const double heavy : {1.0, -1.0}) {
      const Row row{{0.9, x, std::nextafter(x, 0)}, {1 + 0x1p-8, 1 + 0x1p-8 + heavy, 1 + 0x1p-8 - heavy}};
      expect_equal_grade(row, DType::bf16, 1, 0x1p-8);
    }
  }
}

// The mass of partitions whose weights are too small to compute can still count.
TEST(CertifiedReference, MassUnderTinyWeights) {
  for (const int exponent : {600, 640, 660, 670, 690, 700, 730}) {
    const Row row{{0, -701.5}, {1.5, 0}, {1, std::ldexp(1.0, exponent)}};
    for (const double bound : {0x1p-90, 0x1p-62, 0x1p-42, 0x1p-32, 0x1p-12, 1.0}) {
      expect_equal_grade(row, DType::f32, 1.5, bound);
    }
  }
}

// Depths around the four and sixteen columns that are taken at a time, partitions around the blocks of eight.
TEST(CertifiedReference, EveryShapeOfRow) {
  const auto certified = make_certified_reference();
  const auto exact = make_exact_reference();
  std::mt19937_64 bits(5);
  for (std::size_t partitions = 1; partitions <= 18; ++partitions) {
    for (std::size_t depth = 1; depth <= 35; depth += partitions % 3 + 1) {
      Row row;
      for (std::size_t i = 0; i < partitions; ++i) row.x.push_back(static_cast<double>(bits() % 1000) / 128);
      for (std::size_t i = 0; i < partitions * depth; ++i)
        row.a.push_back(static_cast<double>(bits() % 4096) / 512 - 4);
      const std::vector<std::uint32_t> out(depth, round_to_nearest_even(DType::bf16, 0.125));
      const std::vector<double> bound(depth, 0.75);
      std::vector<ElementGrade> got(depth);
      std::vector<ElementGrade> due(depth);
      certified->grade_row(row.problem(), {DType::bf16, out, bound, {}}, got);
      exact->grade_row(row.problem(), {DType::bf16, out, bound, {}}, due);
      ASSERT_EQ(got, due) << partitions << " partitions, depth " << depth;
    }
  }
}

TEST(CertifiedReference, DecidesOrdinaryRowsInDouble) {
  TierCounts counts;
  const auto certified = make_certified_reference(&counts);
  std::mt19937_64 bits(6);
  for (int i = 0; i < 200; ++i) {
    Row row;
    for (int p = 0; p < 37; ++p) row.x.push_back(static_cast<double>(bits() % 4096) / 1024);
    for (int k = 0; k < 37 * 128; ++k) row.a.push_back(static_cast<double>(bits() % 65536) / 8192 - 4);
    const std::vector<std::uint32_t> out(128, round_to_nearest_even(DType::bf16, 0.0625));
    const std::vector<double> bound(128, 0.3);
    std::vector<ElementGrade> grades(128);
    certified->grade_row(row.problem(), {DType::bf16, out, bound, {}}, grades);
  }
  EXPECT_EQ(counts.elements, 25600u);
  EXPECT_LT(counts.left_double, 25600u / 1000);
}

TEST(CertifiedReference, RefusesWhatTheExactOneRefuses) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto certified = make_certified_reference();
  const auto grade = [&](const Row& row, std::uint32_t bits, double bound) {
    std::vector<ElementGrade> grades(1);
    certified->grade_row(row.problem(), {DType::f32, {&bits, 1}, {&bound, 1}, {}}, grades);
  };
  EXPECT_THROW(grade({{nan}, {1}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{kInf}, {1}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{0}, {kInf}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{0, 1}, {nan, 1}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{0, -1e4}, {1, kInf}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{0}, {1}, {-1}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{-kInf}, {1}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{0}, {1}, {}, kInf}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{0}, {1}}, 0, -1), std::invalid_argument);
  EXPECT_THROW(grade({{0}, {1}}, 0, nan), std::invalid_argument);
  EXPECT_THROW(grade({{0}, {1}}, 0x7fffffff, 1), std::invalid_argument);
  EXPECT_NO_THROW(grade({{0, -kInf}, {1, nan}}, 0, 1));
}

}  // namespace
}  // namespace lsecheck
