#include <gtest/gtest.h>

#include <cstdint>

#include "properties/case_draw.h"
#include "properties/case_expand.h"
#include "properties/grade_case.h"
#include "properties/run_case.h"
#include "properties/runner.h"
#include "properties/tensor_edits.h"
#include "reference/certified_reference.h"

// What a run reports does not depend on which reference grades it.
namespace lsecheck {
namespace {

// Grades the kernels' output for smoke cases begin .. end - 1 of at most `largest` values by both references.
void expect_equal_verdicts(std::uint64_t begin, std::uint64_t end, std::uint64_t largest) {
  const auto certified = make_certified_reference();
  const auto exact = make_exact_reference();
  std::uint64_t compared = 0;
  for (std::uint64_t i = begin; i < end; ++i) {
    const CaseSpec spec = draw_spec(1, i, {});
    if (spec.rows_heads() * spec.num_partitions * spec.ov_depth > largest) continue;
    const CaseTensors tensors = bucketed(expand(spec));
    const KernelVariant variant = variant_of(tensors.spec);
    const KernelRun run = run_kernel(tensors);
    ASSERT_FALSE(run.fault.has_value()) << describe_spec(spec);
    const CaseGrades got = grade_output(tensors, variant, run.out_bits, *certified);
    const CaseGrades due = grade_output(tensors, variant, run.out_bits, *exact);
    ASSERT_EQ(got.graded, due.graded) << describe_spec(spec);
    ASSERT_EQ(got.violations, due.violations) << describe_spec(spec);
    for (std::size_t k = 0; k < due.grades.size(); ++k) {
      ASSERT_EQ(got.grades[k], due.grades[k]) << describe_spec(spec) << ", element " << k;
      compared += due.graded[k];
    }
  }
  EXPECT_GT(compared, 1000U * (end - begin) / 100);
}

TEST(CertifiedVerdicts, OfSmokeCasesAreTheExactOnes) {
  expect_equal_verdicts(0, 200, 8'000);
}

TEST(CertifiedVerdictsNightlyTest, OfTheWholeSmokeRunAreTheExactOnes) {
  expect_equal_verdicts(0, 20'000, UINT64_MAX);
}

}  // namespace
}  // namespace lsecheck
