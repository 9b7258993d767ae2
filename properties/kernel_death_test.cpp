#include "properties/kernel_death.h"

#include <gtest/gtest.h>

namespace lsecheck {
namespace {

TEST(KernelDeath, TheLawIsTheOneMarkedOrTheFirstWhereTheMarkIsNone) {
  const std::vector<const Law*> laws{find_law("accuracy"), find_law("negation")};
  WorkerAnswer answer;
  EXPECT_EQ(law_at_death(answer, laws), laws.front());
  answer.mark = mark_of(LawId::negation);
  EXPECT_EQ(law_at_death(answer, laws)->id, LawId::negation);
  for (const std::uint32_t damaged : {0xffffffffU, 0x100U + mark_of(LawId::negation), 200U}) {
    answer.mark = damaged;
    EXPECT_EQ(law_at_death(answer, laws), laws.front()) << damaged;
  }
}

}  // namespace
}  // namespace lsecheck
