#include "properties/certify/certify_launch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "properties/case_expand.h"
#include "properties/certify/certify_layout.h"
#include "properties/certify/row_certifier.h"
#include "properties/grade_case.h"
#include "properties/run_case.h"
#include "reference/certified_reference.h"

namespace lsecheck::certify {
namespace {

using Output = std::vector<std::uint32_t>;

CaseSpec base_spec() {
  CaseSpec spec;
  spec.arch = Arch::sm_90;
  spec.num_partitions = 37;
  spec.rows = 12;
  spec.ov_depth = 72;  // lanes without a column in the last round
  spec.out = DType::bf16;
  spec.partial = DType::f32;
  return spec;
}

struct Counted {
  std::uint64_t elements = 0;
  std::uint64_t decided = 0;
  std::uint64_t failing = 0;
};

// Every decided element has the certified reference's grade; what the reference does not pass is never certified. The
// verdicts say what the grades do.
void expect_the_reference(const CaseTensors& tensors, const Output& output, Counted& counted) {
  std::vector<std::uint32_t> all(tensors.spec.rows_heads());
  std::iota(all.begin(), all.end(), 0U);
  const ExecutedRows executed = certify_on_executor(tensors, output, all, 1);
  const ExecutedRows unlisted = certify_on_executor(tensors, output, {}, 1);
  EXPECT_EQ(executed.verdicts, unlisted.verdicts);
  const CaseGrades due = grade_output(tensors, variant_of(tensors.spec), output, *make_certified_reference());
  const std::size_t depth = tensors.spec.ov_depth;
  for (const std::uint32_t row : all) {
    const std::vector<CertifiedGrade> grades = read_grades(executed.grades_of(row));
    ASSERT_EQ(grades.size(), depth);
    std::uint32_t open = 0, failing = 0;
    float largest_ulp = 0;
    std::uint32_t column = 0;
    for (std::uint32_t d = 0; d < depth; ++d) {
      const CertifiedGrade& grade = grades[d];
      const std::size_t at = row * depth + d;
      const ElementGrade& wanted = due.grades[at];
      ++counted.elements;
      if (!grade.decided) {
        ++open;
        continue;
      }
      ASSERT_TRUE(due.graded[at]) << describe_value(DType::bf16, output[at]);
      const CertifiedGrade expected{true,
                                    wanted.signed_ulp < 0,
                                    static_cast<float>(wanted.ulp),
                                    static_cast<float>(wanted.scaled_ulp),
                                    static_cast<float>(wanted.bound_use),
                                    static_cast<std::uint32_t>(wanted.steps),
                                    wanted.correctly_rounded};
      ASSERT_EQ(grade, expected) << "row " << row << " column " << d << ": ulp " << grade.ulp << " " << wanted.ulp
                                 << ", use " << grade.bound_use << " " << wanted.bound_use;
      ASSERT_EQ(grade.bound_use <= 1, wanted.within_bound);
      ++counted.decided;
      failing += grade.bound_use > 1;
      if (grade.bound_use <= 1 && grade.ulp > largest_ulp) {
        largest_ulp = grade.ulp;
        column = d;
      }
    }
    counted.failing += failing;
    const auto verdict = executed.verdict(row);
    EXPECT_EQ(verdict[kOpenElements], open);
    EXPECT_EQ(verdict[kFailingElements], failing);
    EXPECT_EQ(std::bit_cast<float>(verdict[kLargestUlp]), largest_ulp);
    EXPECT_EQ(verdict[kLargestUlp + 1], column);
  }
}

Output outputs_of(const CaseTensors& tensors) {
  const KernelRun run = run_kernel(tensors);
  EXPECT_FALSE(run.fault.has_value());
  return run.out_bits;
}

TEST(CertifyRows, OrdinaryRowsAreDecidedAlmostWithoutException) {
  Counted counted;
  for (const int partitions : {1, 2, 31, 37, 160}) {
    CaseSpec spec = base_spec();
    spec.num_partitions = static_cast<std::uint16_t>(partitions);
    for (spec.seed = 0; spec.seed < 20; ++spec.seed) {
      const CaseTensors tensors = expand(spec);
      expect_the_reference(tensors, outputs_of(tensors), counted);
    }
  }
  EXPECT_EQ(counted.failing, 0U);
  EXPECT_GT(counted.decided * 10'000, counted.elements * 9'999) << counted.decided << " of " << counted.elements;
}

TEST(CertifyRows, RowsOfEveryRegimeGetTheGradesOfTheReference) {
  Counted counted;
  for (const LseRegime lse :
       {LseRegime::narrow, LseRegime::dominant, LseRegime::extreme_spread, LseRegime::large_magnitude,
        LseRegime::masked_sentinel, LseRegime::ties, LseRegime::flushed_weights, LseRegime::policy}) {
    for (const ValueRegime values :
         {ValueRegime::normal, ValueRegime::cancelling, ValueRegime::constant, ValueRegime::one_hot, ValueRegime::huge,
          ValueRegime::subnormal, ValueRegime::nonfinite}) {
      CaseSpec spec = base_spec();
      spec.lse = lse;
      spec.values = values;
      for (spec.seed = 0; spec.seed < 2; ++spec.seed) {
        spec.num_partitions = spec.seed == 0 ? std::uint16_t{37} : std::uint16_t{5};
        const CaseTensors tensors = expand(spec);
        expect_the_reference(tensors, outputs_of(tensors), counted);
      }
    }
  }
  EXPECT_GT(counted.decided * 10, counted.elements * 6) << counted.decided << " of " << counted.elements;
}

TEST(CertifyRows, RowsWithAnEmptyPartitionStayOpen) {
  CaseSpec spec = base_spec();
  spec.empties = EmptyPattern::trailing;
  const CaseTensors tensors = expand(spec);
  const ExecutedRows executed = certify_on_executor(tensors, outputs_of(tensors), {}, 1);
  for (std::uint32_t row = 0; row < spec.rows; ++row) EXPECT_EQ(executed.verdict(row)[kOpenElements], spec.ov_depth);
}

// Other bits in place of the kernel's: never certified where they are outside the bound.
TEST(CertifyRows, PlantedOutputsAreNotCertified) {
  CaseSpec spec = base_spec();
  for (spec.seed = 0; spec.seed < 4; ++spec.seed) {
    const CaseTensors tensors = expand(spec);
    const Output right = outputs_of(tensors);
    Counted counted;
    for (const std::uint32_t flipped : {0x0001U, 0x0002U, 0x0040U, 0x0080U, 0x4000U, 0x8000U}) {
      Output wrong = right;
      for (std::uint32_t& bits : wrong) bits ^= flipped;
      expect_the_reference(tensors, wrong, counted);
    }
    EXPECT_GT(counted.failing * 10, counted.elements * 9);
    for (const std::uint32_t special : {0x7f80U, 0xff80U, 0x7fc0U}) {
      Counted none;
      expect_the_reference(tensors, Output(right.size(), special), none);
      EXPECT_EQ(none.decided, 0U);
    }
  }
}

// Every output moved to the next bf16, away from the exact value: more than half an ulp off, and the bound is hardly
// more than that unless the sum cancels.
TEST(CertifyRows, OneStepBeyondTheBoundIsNotCertified) {
  const CaseTensors tensors = expand(base_spec());
  Output moved = outputs_of(tensors);
  const auto reference = make_certified_reference();
  const CaseGrades due = grade_output(tensors, variant_of(tensors.spec), moved, *reference);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const bool up = (due.grades[i].signed_ulp >= 0) != ((moved[i] & 0x8000U) != 0);
    moved[i] += up ? 1U : 0xffffffffU;
  }
  const CaseGrades wrong = grade_output(tensors, variant_of(tensors.spec), moved, *reference);
  std::vector<std::uint32_t> all(tensors.spec.rows_heads());
  std::iota(all.begin(), all.end(), 0U);
  const ExecutedRows executed = certify_on_executor(tensors, moved, all, 1);
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (wrong.grades[i].within_bound) continue;
    ++beyond;
    const CertifiedGrade grade = read_grades(executed.grades_of(i / executed.depth))[i % executed.depth];
    EXPECT_TRUE(!grade.decided || grade.bound_use > 1) << i;
  }
  EXPECT_GT(beyond * 100, moved.size() * 95);
}

}  // namespace
}  // namespace lsecheck::certify
