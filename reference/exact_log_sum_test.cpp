#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "reference/test_row.h"

namespace lsecheck {
namespace {

float lse_of(const Row& row) {
  return make_exact_reference()->log_sum_exp2(row.problem()).lse;
}

TEST(ExactLogSum, ClosedForms) {
  const auto reference = make_exact_reference();
  const Row one{{123.456f}, {0}};
  EXPECT_EQ(reference->log_sum_exp2(one.problem()).lse, 123.456f);
  EXPECT_EQ(reference->log_sum_exp2(one.problem()).error_bound, 0);
  const Row four{{1.3f, 1.3f, 1.3f, 1.3f}, {0, 0, 0, 0}};
  const auto rounded = reference->log_sum_exp2(four.problem());
  EXPECT_EQ(rounded.lse, static_cast<float>(double{1.3f} + 2));
  const double error = std::fabs(double{rounded.lse} - (double{1.3f} + 2));
  EXPECT_GE(rounded.error_bound, error);
  EXPECT_LE(rounded.error_bound, error * (1 + 0x1p-40) + 0x1p-80);
  // Ties: 2^24 + 1 lies between two floats; 2^24 + 3 too, the other way.
  EXPECT_EQ(lse_of({{0x1p24, 0x1p24}, {0, 0}}), 0x1p24f);
  EXPECT_EQ(lse_of({{0x1p24 + 2, 0x1p24 + 2}, {0, 0}}), 0x1p24f + 4);
  // Just beside them, by less than any precision shows.
  EXPECT_EQ(lse_of({{0x1p24, 0x1p24, -0x1p90}, {0, 0, 0}}), 0x1p24f + 2);
  // Masses, and L exactly 1: 1/4 + 3/4.
  EXPECT_EQ(lse_of({{-2, 0}, {0, 0}, {1, 0.75}}), 0.0f);
  EXPECT_EQ(lse_of({{0, -5000.5f}, {0, 0}}), 0.0f);
  EXPECT_EQ(lse_of({{-0x1p100, -0x1p100}, {0, 0}}), -0x1p100f);
}

TEST(ExactLogSum, RefusesARowWithoutMass) {
  EXPECT_THROW(lse_of({{-kInf}, {1}}), std::invalid_argument);
  EXPECT_THROW(lse_of({{0}, {1}, {0}}), std::invalid_argument);
}

}  // namespace
}  // namespace lsecheck
