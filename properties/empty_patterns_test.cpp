#include "properties/case_expand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "properties/case_limits.h"
#include "properties/expanded_rows.h"

namespace lsecheck {
namespace {

using namespace expanded;

TEST(EmptyPatterns, EachHasItsForm) {
  for (const int p : {1, 2, 33, 160}) {
    CaseSpec spec = base_spec();
    spec.num_partitions = static_cast<std::uint16_t>(p);
    const auto every_row = [&](EmptyPattern pattern, auto check) {
      spec.empties = pattern;
      const CaseTensors tensors = expand(spec);
      for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
        const std::vector<float> lse = row_lse(tensors, rh);
        EXPECT_TRUE(check(lse, count_empty(lse))) << name_of(pattern) << " P=" << p;
      }
    };
    const std::size_t n = spec.num_partitions;
    every_row(EmptyPattern::none, [](const auto&, std::size_t count) { return count == 0; });
    every_row(EmptyPattern::all, [&](const auto&, std::size_t count) { return count == n; });
    every_row(EmptyPattern::one_left, [&](const auto&, std::size_t count) { return count == n - 1; });
    every_row(EmptyPattern::leading, [&](const auto& lse, std::size_t count) {
      return (n == 1 || count > 0) && count < n &&
             std::none_of(lse.begin() + static_cast<std::ptrdiff_t>(count), lse.end(), empty);
    });
    every_row(EmptyPattern::trailing, [&](const auto& lse, std::size_t count) {
      return (n == 1 || count > 0) && count < n &&
             std::none_of(lse.begin(), lse.end() - static_cast<std::ptrdiff_t>(count), empty);
    });
    every_row(EmptyPattern::random, [&](const auto&, std::size_t count) { return (n == 1 || count > 0) && count < n; });
  }
}

TEST(EmptyPatterns, RowsDiffer) {
  for (const EmptyPattern pattern : {EmptyPattern::trailing, EmptyPattern::leading, EmptyPattern::one_left}) {
    CaseSpec spec = base_spec();
    spec.empties = pattern;
    const CaseTensors tensors = expand(spec);
    std::set<std::size_t> firsts;
    for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
      const std::vector<float> lse = row_lse(tensors, rh);
      const bool wanted = pattern == EmptyPattern::trailing;
      firsts.insert(static_cast<std::size_t>(
          std::find_if(lse.begin(), lse.end(), [&](float x) { return empty(x) == wanted; }) - lse.begin()));
    }
    EXPECT_GT(firsts.size(), 5u) << name_of(pattern);
  }
}

TEST(EmptyPatterns, MixedRowsHoldEveryPattern) {
  CaseSpec spec = base_spec();
  spec.empties = EmptyPattern::mixed_rows;
  for (const std::size_t wanted : {0u, 36u, 37u}) {
    EXPECT_TRUE(reached(spec, [&](const auto& lse) { return count_empty(lse) == wanted; }));
  }
  EXPECT_TRUE(reached(spec, [](const auto& lse) { return empty(lse.front()) && !empty(lse.back()); }));
  EXPECT_TRUE(reached(spec, [](const auto& lse) { return !empty(lse.front()) && empty(lse.back()); }));
}

TEST(GarbageKinds, LieUnderEveryEmptyPartition) {
  for (const TypePair& types : kTypePairs) {
    for (int kind = 0; kind < kGarbageCount; ++kind) {
      CaseSpec spec = base_spec();
      spec.out = types.out;
      spec.partial = types.partial;
      spec.garbage = static_cast<Garbage>(kind);
      spec.empties = EmptyPattern::all;
      const CaseTensors tensors = expand(spec);
      std::set<std::uint32_t> patterns;
      std::size_t nan = 0, inf = 0;
      for (const std::uint32_t bits : tensors.o_partial) {
        patterns.insert(bits);
        nan += is_nan(spec.partial, bits) ? 1u : 0u;
        inf += is_inf(spec.partial, bits) ? 1u : 0u;
        ASSERT_LT(std::uint64_t{bits}, std::uint64_t{1} << format_of(spec.partial).bits);
      }
      const std::size_t all = tensors.o_partial.size();
      switch (spec.garbage) {
        case Garbage::zero:
          EXPECT_EQ(patterns, std::set<std::uint32_t>{0});
          break;
        case Garbage::nan:
          EXPECT_EQ(nan, all);
          EXPECT_GT(patterns.size(), 100u);
          break;
        case Garbage::inf:
          EXPECT_EQ(inf, all);
          EXPECT_EQ(patterns.size(), 2u);
          break;
        case Garbage::stale_bits:
          EXPECT_GT(nan, 0u);
          EXPECT_LT(nan, all / 10);
          EXPECT_GT(patterns.size(), 20000u);
          break;
      }
    }
  }
}

}  // namespace
}  // namespace lsecheck
