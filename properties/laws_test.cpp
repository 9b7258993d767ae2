#include "properties/laws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "properties/case_expand.h"
#include "properties/case_limits.h"
#include "properties/law_tools.h"
#include "properties/runner.h"
#include "properties/spec_generator.h"
#include "properties/tensor_edits.h"
#include "properties/token.h"

// RapidCheck prints a failing spec in these words.
namespace lsecheck {
void showValue(const CaseSpec& spec, std::ostream& os) {
  os << describe_spec(spec) << " seed " << spec.seed;
}
}  // namespace lsecheck

namespace lsecheck {
namespace {

using ::testing::HasSubstr;

// Small cases only, so that every law is held against some hundred of them in a second or two. An MLA row is long.
bool small(const CaseSpec& spec) {
  const std::uint64_t limit = registered_kernel(spec.kernel)->takes_sink() ? 40'000 : 20'000;
  return spec.rows_heads() * spec.num_partitions * spec.ov_depth <= limit;
}

struct LawUnderUnit {
  const Law* law;
  sfu::UnitKind unit;
  KernelId kernel;
};

// Laws that speak of one kernel's variants, or of what only the measured unit promises.
bool never_applies(const LawUnderUnit& what) {
  const CombineKernel& kernel = *registered_kernel(what.kernel);
  switch (what.law->id) {
    case LawId::single_partition:
      return what.unit == sfu::UnitKind::spec && !kernel.takes_masses();
    case LawId::hierarchical:
      return kernel.takes_masses();
    case LawId::twin:
      return true;  // needs a GPU
    case LawId::rung_is_runtime:
      return !kernel.has_rungs();
    case LawId::warps_per_head_agree:
      return what.kernel != KernelId::mla_combine && what.kernel != KernelId::fa4_ws_level2_reduce_scatter_write;
    case LawId::fast_is_production:
      return !kernel.has_rungs();
    case LawId::ragged_is_dense:
    case LawId::sink_absent:
      return !kernel.takes_sink();
    case LawId::convexity:
      return !kernel.divides_by_mass();
    default:
      return false;
  }
}

class EveryLaw : public ::testing::TestWithParam<LawUnderUnit> {};

TEST_P(EveryLaw, HoldsOnGeneratedCases) {
  const auto [law, unit, kernel] = GetParam();
  const auto reference = make_exact_reference();
  const DrawLimits limits{.arch = {}, .unit = unit, .schedule = Schedule::lockstep, .kernels = {kernel}};
  const auto specs = rc::gen::suchThat(spec_generator(limits), small);
  int checked = 0;
  rc::detail::TestParams params;
  params.seed = 20 + static_cast<std::uint64_t>(law->id);  // the same cases in every run
  params.maxSuccess = registered_kernel(kernel)->takes_sink() ? 16 : 25;
  const auto result = rc::detail::checkTestable(
      [&, &law_to_check = *law] {
        const CaseSpec spec = *specs;
        const LawOutcome outcome = check_guarded(law_to_check, bucketed(expand(spec)), *reference);
        checked += outcome.status != LawOutcome::Status::not_applicable;
        if (outcome.status == LawOutcome::Status::fails) RC_FAIL(outcome.message);
      },
      rc::detail::TestMetadata{}, params);
  if (!result.template is<rc::detail::SuccessResult>()) {
    std::ostringstream text;
    rc::detail::printResultMessage(result, text);
    FAIL() << text.str();
  }
  EXPECT_EQ(checked > 0, !never_applies(GetParam())) << "a law that is never applicable tests nothing";
}

std::vector<LawUnderUnit> laws_and_units() {
  std::vector<LawUnderUnit> all;
  for (const Law& law : all_laws()) {
    if (law.of_run) continue;  // tests of their own
    for (const KernelId kernel : kernels_matching("*")) {
      all.push_back({&law, sfu::UnitKind::h200, kernel});
      all.push_back({&law, sfu::UnitKind::spec, kernel});
    }
  }
  return all;
}

std::string test_name(const ::testing::TestParamInfo<LawUnderUnit>& parameter) {
  return std::string(parameter.param.law->name) + "_" + std::string(sfu::name_of(parameter.param.unit)) + "_" +
         std::string(name_of(parameter.param.kernel));
}

INSTANTIATE_TEST_SUITE_P(Laws, EveryLaw, ::testing::ValuesIn(laws_and_units()), test_name);

TEST(LawTable, NumbersNamesAndLookups) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < all_laws().size(); ++i) {
    const Law& law = all_laws()[i];
    EXPECT_EQ(static_cast<std::size_t>(law.id), i) << "a token stores this number";
    EXPECT_TRUE(names.insert(law.name).second);
    EXPECT_EQ(find_law(law.name), &law);
    EXPECT_EQ(find_law(static_cast<std::uint8_t>(law.id)), &law);
  }
  EXPECT_EQ(find_law("accurate"), nullptr);
  EXPECT_EQ(find_law(std::uint8_t{26}), nullptr);
}

// 2^-80 + c loses 2^-80 in f32 and in double alike: no shift that size is exact, and a law that demands equal bits must
// not take it for one.
TEST(LseShift, ATinyLseAllowsNoShiftThatSwallowsIt) {
  CaseSpec spec;
  spec.kernel = KernelId::mla_combine_split_parallel;
  spec.num_partitions = 2;
  spec.ov_depth = 512;
  spec.out = spec.partial = DType::f32;
  CaseTensors tensors = expand(spec);
  tensors.lse_partial = {0x1p-80F, 1.0F};
  const auto reference = make_exact_reference();
  for (tensors.spec.seed = 0; tensors.spec.seed < 20; ++tensors.spec.seed) {
    const LawOutcome outcome = check_lse_shift(tensors, *reference);
    EXPECT_EQ(outcome.status, LawOutcome::Status::not_applicable) << outcome.message;
  }
}

// Huge values may overflow the split-parallel kernel's partial sums to Inf - Inf, in the groups or above them: no
// failure of the law.
TEST(Hierarchical, OverflowOfHugeValuesIsNoFailure) {
  const ParsedToken parsed = parse_token("lse1-amabaiiaaa2aaaaaaiaqjaacaeaaaaaaaaaaacx7jwta");
  const auto reference = make_exact_reference();
  const LawOutcome outcome = check_hierarchical(bucketed(expand(std::get<Token>(parsed).spec)), *reference);
  EXPECT_NE(outcome.status, LawOutcome::Status::fails) << outcome.message;
}

// grade_output is the eye of every bound law: shown one wrong element of each kind, it must see it.
class GradeOutput : public ::testing::Test {
 protected:
  GradeOutput() {
    CaseSpec spec;
    spec.num_partitions = 5;
    spec.rows = 3;
    spec.ov_depth = 64;
    spec.seed = 3;
    tensors_ = expand(spec);
    // Row 1 is empty, row 2 holds a NaN among its LSEs.
    for (std::size_t p = 0; p < 5; ++p) tensors_.lse_partial[tensors_.lse_index(p, 1)] = -INFINITY;
    tensors_.lse_partial[tensors_.lse_index(0, 2)] = NAN;
    out_bits_ = run_kernel(tensors_).out_bits;
  }
  CaseGrades grade() { return grade_output(tensors_, variant_of(tensors_.spec), out_bits_, *reference_); }
  void expect_violation(std::size_t i, std::uint32_t bits, const char* text) {
    const std::uint32_t right = std::exchange(out_bits_[i], bits);
    const CaseGrades grades = grade();
    ASSERT_TRUE(grades.violation.has_value()) << text;
    EXPECT_EQ(grades.violations, 1U);
    EXPECT_EQ(grades.violation->row_head * 64 + grades.violation->depth_index, i);
    EXPECT_THAT(grades.violation->message, HasSubstr(text));
    EXPECT_TRUE(grade_classes(tensors_, variant_of(tensors_.spec), out_bits_).violations <= 1);
    out_bits_[i] = right;
  }

  std::unique_ptr<Reference> reference_ = make_exact_reference();
  CaseTensors tensors_;
  std::vector<std::uint32_t> out_bits_;
};

TEST_F(GradeOutput, AcceptsTheKernelsOwnOutput) {
  const CaseGrades grades = grade();
  EXPECT_FALSE(grades.violation.has_value()) << grades.violation->message;
  EXPECT_EQ(std::count(grades.graded.begin(), grades.graded.end(), 1), 64);
}

TEST_F(GradeOutput, SeesEveryKindOfWrongElement) {
  expect_violation(7, out_bits_[7] ^ 0x0004U, "bound_use");
  expect_violation(8, 0x7fffU, "due is a finite value");
  expect_violation(9, 0x7f80U, "bound_use");
  expect_violation(64 + 5, 0x0001U, "every partition is empty");
  expect_violation(64 + 6, 0x7fc0U, "every partition is empty");
  expect_violation(128 + 1, 0x3f80U, "by the row's exponents and masses");
}

TEST(FirstDifference, ComparesAsTheLawAsks) {
  const std::vector<std::uint32_t> a{0x0000, 0x7fc1, 0x3f80};
  const std::vector<std::uint32_t> b{0x8000, 0xffff, 0x3f80};
  EXPECT_EQ(first_difference(DType::bf16, 3, a, b, BitComparison::zero_signs_and_nans_alike), std::nullopt);
  EXPECT_THAT(*first_difference(DType::bf16, 3, a, b, BitComparison::every_bit), HasSubstr("d 0"));
  const std::vector<std::uint32_t> c{0x0000, 0x7fc1, 0x3f81};
  EXPECT_THAT(*first_difference(DType::bf16, 3, a, c, BitComparison::zero_signs_and_nans_alike), HasSubstr("d 2"));
}

}  // namespace
}  // namespace lsecheck
