#include "properties/explain/explained_element.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "properties/case_draw.h"
#include "properties/case_expand.h"
#include "properties/case_kernel.h"
#include "properties/tensor_edits.h"
#include "reference/certified_reference.h"

namespace lsecheck {
namespace {

void expect_explained(const ExplainedElement& why, DType out, const ElementGrade& grade) {
  EXPECT_EQ(why.contract_bits, why.stored_bits);
  // No value of the type is nearer to the exact one. (Two are as near where a double cannot tell it from a tie.)
  const double nearest = decode(out, round_to_nearest_even(out, why.exact));
  EXPECT_LE(std::fabs(why.exact - decode(out, grade.correctly_rounded)), std::fabs(why.exact - nearest));
  double sum = 0;
  double largest = 0;
  for (const ErrorShare& share : why.shares) {
    sum += share.ulp;
    largest = std::max(largest, std::fabs(share.ulp));
  }
  // At most ten shares, each rounded to a double once, and as many additions of sums up to ten times the largest.
  EXPECT_LE(std::fabs(sum - why.total_ulp), 128 * largest * 0x1p-53);
  EXPECT_LE(std::fabs(why.total_ulp), grade.ulp == 0 ? 0x1p-16 : grade.ulp);
  if (grade.ulp > 1) {
    // What is below a power of two by less than 2^-900 of it has the power's ulp here, half as large in the grade.
    int exponent = 0;
    const double binades = std::fabs(std::frexp(why.exact, &exponent)) == 0.5 ? 2 : 1;
    EXPECT_GE(std::fabs(why.total_ulp) * binades, grade.ulp * (1 - 0x1p-9));
  }
}

// Over drawn cases of every kernel and both units: the steps give the kernel's bits on every graded element, the exact
// value rounds as the reference says, and the shares add up to the error that it measures.
class ExplainedElementTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Kernels, ExplainedElementTest, ::testing::Range(0, kKernelCount),
                         [](const auto& test) { return std::string(name_of(static_cast<KernelId>(test.param))); });

TEST_P(ExplainedElementTest, TheStepsAreTheKernelsAndTheSharesAddUp) {
  const std::unique_ptr<Reference> reference = make_certified_reference();
  std::size_t explained = 0;
  for (const sfu::UnitKind unit : {sfu::UnitKind::h200, sfu::UnitKind::spec}) {
    DrawLimits limits;
    limits.unit = unit;
    limits.kernels = {static_cast<KernelId>(GetParam())};
    for (std::uint64_t i = 0; i < 60; ++i) {
      const CaseTensors tensors = bucketed(expand(draw_spec(11, i, limits)));
      std::optional<AccuracyMeasurement> measured;
      check_accuracy(tensors, *reference, measured);
      if (!measured) continue;
      const std::size_t columns = columns_of(tensors.spec);
      for (std::size_t element = i % columns; element < measured->out_bits.size(); element += 5 * columns + 3) {
        const std::uint32_t bits = measured->out_bits[element];
        if (!measured->grades.graded[element] || !is_finite(tensors.spec.out, bits)) continue;
        SCOPED_TRACE(::testing::Message() << "case " << i << " element " << element);
        ++explained;
        ASSERT_TRUE(finite_value_is_due(tensors, measured->variant, element / columns, element % columns));
        expect_explained(explain_element(tensors, element / columns, element % columns, bits), tensors.spec.out,
                         measured->grades.grades[element]);
      }
    }
  }
  EXPECT_GT(explained, 100U);
}

// Level 1 returns l and m behind the depth.
TEST(ExplainedElement, LevelOneReturnsItsMassAndItsMaximum) {
  const std::unique_ptr<Reference> reference = make_certified_reference();
  DrawLimits limits;
  limits.kernels = {KernelId::fa4_ws_level1_combine};
  std::size_t explained = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const CaseTensors tensors = bucketed(expand(draw_spec(11, i, limits)));
    std::optional<AccuracyMeasurement> measured;
    check_accuracy(tensors, *reference, measured);
    const std::size_t depth = tensors.spec.ov_depth;
    for (const std::size_t column : {depth, depth + 1}) {
      if (!measured || !measured->grades.graded[column]) continue;
      SCOPED_TRACE(::testing::Message() << "case " << i << " column " << column);
      ++explained;
      const ExplainedElement why = explain_element(tensors, 0, column, measured->out_bits[column]);
      expect_explained(why, tensors.spec.out, measured->grades.grades[column]);
      if (column > depth) {
        EXPECT_EQ(why.total_ulp, 0);
      }
    }
  }
  EXPECT_GT(explained, 50U);
}

CaseTensors two_partitions(float lse0, float lse1, float o0, float o1) {
  CaseTensors tensors;
  tensors.spec.num_partitions = 2;
  tensors.spec.ov_depth = 1;
  tensors.spec.out = tensors.spec.partial = DType::f32;
  tensors.lse_partial = {lse0, lse1};
  tensors.o_partial = {std::bit_cast<std::uint32_t>(o0), std::bit_cast<std::uint32_t>(o1)};
  return tensors;
}

double share_of(const ExplainedElement& why, const std::string& step) {
  for (const ErrorShare& share : why.shares) {
    if (share.step == step) return share.ulp;
  }
  ADD_FAILURE() << "no step " << step;
  return 0;
}

// Equal LSEs past 2^24: log2 of the sum is absorbed by g, every weight becomes 1, and the result is the sum.
TEST(ExplainedElement, AnAbsorbedSumIsBlamedOnTheGlobalLse) {
  const std::uint32_t two = std::bit_cast<std::uint32_t>(2.0F);
  const ExplainedElement why = explain_element(two_partitions(0x1p26F, 0x1p26F, 1, 1), 0, 0, two);
  ASSERT_EQ(why.values.size(), 3U);
  EXPECT_EQ(why.values[1].name, "s");
  EXPECT_EQ(why.values[1].value.kernel, 2.0);
  EXPECT_EQ(why.values[2].name, "g");
  EXPECT_EQ(why.values[2].value.kernel, 0x1p26);
  EXPECT_EQ(why.values[2].value.error, -1.0);
  EXPECT_EQ(why.partitions[1].weight.kernel, 1.0);
  EXPECT_EQ(why.partitions[1].weight.exact, 0.5);
  EXPECT_EQ(why.exact, 1.0);
  EXPECT_EQ(why.total_ulp, 0x1p23);
  for (const ErrorShare& share : why.shares) EXPECT_EQ(share.ulp, share.step == "g = lg2(s) + m" ? 0x1p23 : 0.0);
}

TEST(ExplainedElement, EmptyPartitionsAreLeftOutWhateverLiesUnderThem) {
  const std::uint32_t due = std::bit_cast<std::uint32_t>(0.75F);
  const ExplainedElement why = explain_element(two_partitions(-INFINITY, 3, NAN, 0.75F), 0, 0, due);
  ASSERT_EQ(why.partitions.size(), 1U);
  EXPECT_EQ(why.partitions[0].p, 1U);
  EXPECT_EQ(why.exact, 0.75);
  EXPECT_EQ(why.total_ulp, 0);
}

TEST(ExplainedElement, WhatIsNotInTheContractHasAShareOfItsOwn) {
  const std::uint32_t stored = std::bit_cast<std::uint32_t>(0.5F);
  const ExplainedElement why = explain_element(two_partitions(3, 3, 1, 1), 0, 0, stored);
  EXPECT_EQ(why.contract_bits, std::bit_cast<std::uint32_t>(1.0F));
  EXPECT_EQ(share_of(why, "not in the contract, which gives 0x3f800000 (1)"), -0x1p22);
  EXPECT_EQ(why.total_ulp, -0x1p22);
}

// A measurement of a kernel that stores `wrong` in one element of a row of graded ones.
AccuracyMeasurement with_wrong_element(const CaseTensors& tensors, std::size_t element, std::uint32_t wrong) {
  const std::unique_ptr<Reference> reference = make_certified_reference();
  std::optional<AccuracyMeasurement> measured;
  check_accuracy(tensors, *reference, measured);
  measured->out_bits[element] = wrong;
  measured->grades = grade_output(tensors, measured->variant, measured->out_bits, *reference);
  return *measured;
}

CaseTensors plain_case() {
  CaseSpec spec;
  spec.kernel = KernelId::mla_combine;
  spec.num_partitions = 2;
  spec.ov_depth = 512;
  spec.out = spec.partial = DType::bf16;
  return expand(spec);
}

TEST(ExplainedElement, TheViolationIsTheElementExplained) {
  const CaseTensors tensors = plain_case();
  const AccuracyMeasurement measured = with_wrong_element(tensors, 77, 0x4780);  // 65536
  const auto why = explain_violation(tensors, measured);
  ASSERT_TRUE(why.has_value());
  EXPECT_EQ(why->column, 77U);
  EXPECT_EQ(why->stored_bits, 0x4780U);
  EXPECT_THAT(why->shares.back().step, ::testing::StartsWith("not in the contract, which gives 0x"));
  EXPECT_GT(why->shares.back().ulp, 1e4);
  EXPECT_EQ(explain_worst(tensors, measured)->column, 77U);
}

TEST(ExplainedElement, ANanInPlaceOfAFiniteValueIsExplainedToo) {
  const CaseTensors tensors = plain_case();
  const auto why = explain_violation(tensors, with_wrong_element(tensors, 5, 0x7fff));
  ASSERT_TRUE(why.has_value());
  EXPECT_EQ(why->column, 5U);
  EXPECT_TRUE(std::isnan(why->shares.back().ulp));
}

TEST(ExplainedElement, ARowWithoutAFiniteValueIsNotExplained) {
  CaseTensors tensors = plain_case();
  for (float& lse : tensors.lse_partial) lse = -INFINITY;
  const AccuracyMeasurement measured = with_wrong_element(tensors, 3, 0x3f80);  // 1, due is 0
  ASSERT_TRUE(measured.grades.violation.has_value());
  EXPECT_FALSE(explain_violation(tensors, measured).has_value());
  EXPECT_FALSE(explain_worst(tensors, measured).has_value());
}

}  // namespace
}  // namespace lsecheck
