#include "properties/frozen_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "properties/case_draw.h"
#include "properties/law_frozen.h"
#include "properties/laws.h"
#include "properties/token.h"

namespace lsecheck {
namespace {

using ::testing::HasSubstr;

const FrozenKey kKey{"mha_splitk_reduce", "runtime", "sm_90", "f32<-f32"};

TEST(FrozenSet, TextReadsBackToTheSameRows) {
  const FrozenRows rows{{kKey, {3, 0x0123456789abcdefU, 1.5, 0.25, "lse1-a"}},
                        {{"mla_combine", "wph8", "sm_90", "bf16<-bf16"}, {1, 7, -1, -1, "lse1-b"}}};
  EXPECT_EQ(parse_frozen(frozen_text(rows)), rows);
}

TEST(FrozenSet, DamagedTextIsRefusedByItsLine) {
  for (const char* line :
       {"a b c", "a b c d x 0 0 0 t", "a b c d 1 zz 0 0 t", "a b c d 1 0 -3 0 t", "a b c d 1 0 0 0"}) {
    try {
      parse_frozen(std::string("# comment\n\n") + line + "\n");
      ADD_FAILURE() << line;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr("line 3 ")) << line;
    }
  }
}

TEST(FrozenSet, TheRecordHoldsEveryKernelChipAndTypePair) {
  std::set<std::string> kernels, archs, types;
  for (const auto& [key, row] : recorded_frozen_rows()) {
    kernels.insert(key.kernel);
    archs.insert(key.arch);
    types.insert(key.types);
    const auto token = parse_token(row.token);
    ASSERT_TRUE(std::holds_alternative<Token>(token)) << key.kernel << ' ' << key.variant;
    EXPECT_EQ(name_of(std::get<Token>(token).spec.kernel), key.kernel);
  }
  EXPECT_EQ(kernels.size(), kernels_matching("*").size());
  EXPECT_EQ(archs.size(), 3U);
  EXPECT_EQ(types.size(), 5U);
}

// One kernel here; `lsecheck run` compares all.
TEST(FrozenSet, TheSourcesGiveTheRecordedBits) {
  const RunResults results = check_frozen_kernel(KernelId::mha_splitk_reduce, recorded_frozen_rows());
  const LawRow& law = results.laws.at({"mha_splitk_reduce", "frozen_digest"});
  EXPECT_GT(law.checked, 5U);
  EXPECT_EQ(law.failed, 0U) << results.failures.at(0).message;
}

TEST(FrozenSet, OneOtherBitIsAFailureThatShowsBothSides) {
  FrozenRows recorded = recorded_frozen_rows();
  const auto row = recorded.lower_bound({"mha_splitk_reduce", "", "", ""});
  row->second.digest ^= 1;
  const RunResults results = check_frozen_kernel(KernelId::mha_splitk_reduce, recorded);
  EXPECT_EQ(results.laws.at({"mha_splitk_reduce", "frozen_digest"}).failed, 1U);
  ASSERT_EQ(results.failures.size(), 1U);
  EXPECT_EQ(results.totals.failures, 1U);
  EXPECT_THAT(results.failures[0].message, HasSubstr(" -> "));
  EXPECT_THAT(results.failures[0].message, HasSubstr("--update-frozen"));
  const auto token = std::get<Token>(parse_token(results.failures[0].token));
  EXPECT_EQ(token.law, static_cast<std::uint8_t>(LawId::frozen_digest));
}

// However many change: those that are not shown keep their place in the count.
TEST(FrozenSet, EveryShownRowTellsItsErrorsBeforeAndNow) {
  FrozenRows recorded = recorded_frozen_rows();
  for (auto& [key, row] : recorded) row.digest ^= 1;
  const RunResults results = check_frozen_kernel(KernelId::mha_splitk_reduce, recorded);
  ASSERT_EQ(results.failures.size(), 1U);
  const LawRow& law = results.laws.at({"mha_splitk_reduce", "frozen_digest"});
  EXPECT_EQ(law.failed, law.checked);
  std::istringstream lines(results.failures[0].message);
  std::size_t shown = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t arrow = line.find(" -> ");
    if (arrow == std::string::npos) continue;
    ++shown;
    // Digests differ, errors were recorded from the same sources.
    EXPECT_EQ(line.substr(line.find(" (", 0), arrow - line.find(" (")), line.substr(line.find(" (", arrow)));
    EXPECT_THAT(line.substr(arrow), HasSubstr("(scaled_ulp ")) << line;
  }
  EXPECT_EQ(shown, 6U);
}

TEST(FrozenSet, ARowThatOnlyOneSideHasIsAChange) {
  const FrozenRows one{{kKey, {3, 9, 1.5, 0.25, "lse1-a"}}};
  EXPECT_EQ(frozen_changes(one, one, 5), "");
  EXPECT_THAT(frozen_changes(one, {}, 5), HasSubstr("-> none"));
  EXPECT_THAT(frozen_changes({}, one, 5), HasSubstr("none -> 0000000000000009 (scaled_ulp 1.5, bound_use 0.25)"));
}

}  // namespace
}  // namespace lsecheck
