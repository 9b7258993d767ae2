#include "cli/quantities.h"

#include <gtest/gtest.h>

namespace lsecheck::cli {
namespace {

TEST(Quantities, Bytes) {
  EXPECT_EQ(parse_bytes("1000"), 1000U);
  EXPECT_EQ(parse_bytes("64K"), 65536U);
  EXPECT_EQ(parse_bytes("4G"), 4294967296U);
  for (const char* bad : {"", "G", "-1", "4T", "4GB", "1.5G", "99999999999999999999", "99999999999G", " 4G"}) {
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
  }
}

TEST(Quantities, Durations) {
  EXPECT_EQ(parse_duration("90"), std::chrono::seconds(90));
  EXPECT_EQ(parse_duration("30m"), std::chrono::seconds(1800));
  EXPECT_EQ(parse_duration("2h"), std::chrono::seconds(7200));
  for (const char* bad : {"", "m", "-1m", "1d", "1e3", "10000000000h"})
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
}

TEST(Quantities, Seeds) {
  EXPECT_EQ(parse_seed("18446744073709551615"), 18446744073709551615U);
  for (const char* bad : {"", "today", "-1", "1x", "18446744073709551616"})
    EXPECT_EQ(parse_seed(bad), std::nullopt) << bad;
  const auto today = parse_seed("date");
  ASSERT_TRUE(today.has_value());
  EXPECT_GE(*today, 20240101U);
  EXPECT_LE(*today % 10000, 1231U);
}

}  // namespace
}  // namespace lsecheck::cli
