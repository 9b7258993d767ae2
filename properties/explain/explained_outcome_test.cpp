#include "properties/explain/explained_outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "kernels/registry.h"
#include "properties/case_expand.h"
#include "properties/case_kernel.h"
#include "properties/test_broken_kernel.h"
#include "reference/certified_reference.h"

namespace lsecheck {
namespace {

using testing::HasSubstr;

LawOutcome outcome_of(const char* law) {
  CaseSpec spec;
  spec.kernel = KernelId::fa4_splitk_combine;
  spec.num_partitions = 3;
  spec.out = spec.partial = DType::f32;
  const auto reference = make_certified_reference();
  return explained_outcome(*find_law(law), expand(spec), *reference);
}

TEST(ExplainedOutcome, AWrongElementComesWithTheStepsThatMadeIt) {
  const BrokenKernel broken(
      *registered_kernel(KernelId::fa4_splitk_combine), [](const CombineShape&) {},
      [](std::span<std::byte> output) { output[7] = std::byte{0x47}; });  // of the second f32: above 2^15
  const KernelInPlace in_place(broken);
  const LawOutcome accuracy = outcome_of("accuracy");
  EXPECT_EQ(accuracy.status, LawOutcome::Status::fails);
  EXPECT_THAT(accuracy.message, testing::StartsWith("row-head 0, d 1: got 0x47"));
  EXPECT_THAT(accuracy.message, HasSubstr("\nwhat each step brings in, in ulp:\n"));
  EXPECT_THAT(accuracy.message, HasSubstr("not in the contract"));
  const LawOutcome other = outcome_of("negation");
  EXPECT_EQ(other.status, LawOutcome::Status::fails);
  EXPECT_THAT(other.message, testing::Not(HasSubstr("what each step")));
}

TEST(ExplainedOutcome, WhatHoldsSaysNothing) {
  EXPECT_EQ(outcome_of("accuracy").status, LawOutcome::Status::holds);
  EXPECT_EQ(outcome_of("accuracy").message, "");
}

}  // namespace
}  // namespace lsecheck
