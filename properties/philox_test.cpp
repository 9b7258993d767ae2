#include "properties/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace lsecheck {
namespace {

// The known-answer vectors published with Random123.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, StreamIsTheCounterSequence) {
  const std::uint64_t seed = 0x0123456789abcdef, index = 0xfedcba9876543210;
  PhiloxStream stream(seed, 7, index);
  for (std::uint32_t block = 0; block < 3; ++block) {
    const PhiloxCounter words = philox4x32_10({block, 7, 0x76543210, 0xfedcba98}, {0x89abcdef, 0x01234567});
    for (const std::uint32_t word : words) EXPECT_EQ(stream.next_u32(), word);
  }
}

TEST(Philox, SeedPurposeAndIndexAllSeparateStreams) {
  std::set<std::uint64_t> first;
  for (std::uint64_t seed : {0u, 1u}) {
    for (std::uint32_t purpose : {0u, 1u}) {
      for (std::uint64_t index : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
        first.insert(PhiloxStream(seed, purpose, index).next_u64());
      }
    }
  }
  EXPECT_EQ(first.size(), 12u);
}

TEST(Philox, BelowIsTheScaledWord) {
  for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{160}, std::uint64_t{1} << 33,
                                std::uint64_t{0xffffffffffffffff}}) {
    PhiloxStream draws(5, 1, n), words(5, 1, n);
    for (int i = 0; i < 1000; ++i) {
      __extension__ using Wide = unsigned __int128;
      const Wide expected = static_cast<Wide>(words.next_u64()) * n >> 64;
      ASSERT_EQ(draws.below(n), static_cast<std::uint64_t>(expected));
    }
  }
}

TEST(Philox, BetweenReachesBothEndsAndNothingElse) {
  PhiloxStream stream(1, 2, 3);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(stream.between(-3, 4));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-3, -2, -1, 0, 1, 2, 3, 4}));
}

TEST(Philox, ChanceHasItsProbability) {
  PhiloxStream stream(1, 2, 4);
  int hits = 0;
  for (int i = 0; i < 20000; ++i) hits += stream.chance(1, 4) ? 1 : 0;
  EXPECT_NEAR(hits, 5000, 5 * 62);  // five standard deviations of a fixed sequence
}

TEST(Philox, UniformsAreDyadicAndInRange) {
  PhiloxStream stream(1, 2, 5);
  double sum = 0;
  for (int i = 0; i < 20000; ++i) {
    const float u = stream.uniform();
    ASSERT_GE(u, 0.0F);
    ASSERT_LT(u, 1.0F);
    const double scaled = static_cast<double>(u) * 0x1p24;
    ASSERT_EQ(scaled, std::floor(scaled));
    sum += static_cast<double>(u);
  }
  EXPECT_NEAR(sum / 20000, 0.5, 5 * 0.29 / std::sqrt(20000.0));
  for (int i = 0; i < 1000; ++i) {
    const float v = stream.uniform_between(-2, 6);
    ASSERT_GE(v, -2.0F);
    ASSERT_LT(v, 6.0F);
  }
}

TEST(Philox, NormalHasItsMoments) {
  PhiloxStream stream(1, 2, 6);
  const int n = 40000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < n; ++i) {
    const double v = static_cast<double>(stream.normal());
    ASSERT_LT(std::fabs(v), 4.9);
    sum += v;
    squares += v * v;
    fourth += v * v * v * v;
  }
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(double{n}));
  EXPECT_NEAR(squares / n, 1, 5 * 1.4 / std::sqrt(double{n}));
  EXPECT_NEAR(fourth / n, 3 - 0.15, 5 * 10 / std::sqrt(double{n}));
}

TEST(Philox, DrawsConsumeAFixedNumberOfWords) {
  PhiloxStream stream(9, 9, 9), words(9, 9, 9);
  std::vector<std::uint32_t> sequence(16);
  for (std::uint32_t& word : sequence) word = words.next_u32();
  stream.below(10);              // words 0, 1
  stream.between(-1, 1);         // 2, 3
  stream.chance(1, 2);           // 4, 5
  stream.uniform();              // 6
  stream.uniform_between(0, 1);  // 7
  stream.normal();               // 8 .. 11
  EXPECT_EQ(stream.next_u32(), sequence[12]);
}

}  // namespace
}  // namespace lsecheck
