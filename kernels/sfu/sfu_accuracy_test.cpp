#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "kernels/sfu/sfu.h"
#include "reference/elementary.h"

namespace lsecheck::sfu {
namespace {

// The largest error of one regime and the smallest input bits that reach it.
struct Worst {
  double error = 0;
  std::uint32_t input = 0;

  void see(double candidate, std::uint32_t bits) {
    if (!(candidate > error)) return;
    error = candidate;
    input = bits;
  }
};

enum Regime { ex2_negative, ex2_positive, lg2_below_one, lg2_above_one, lg2_low, lg2_high, rcp, regime_count };
constexpr std::array<const char*, regime_count> kRegimeNames = {
    "ex2 relative, x < 0",  "ex2 relative, x > 0",    "lg2 absolute, (0.5, 1)",
    "lg2 absolute, [1, 2)", "lg2 relative, x <= 0.5", "lg2 relative, x >= 2",
    "rcp relative"};
using Worsts = std::array<Worst, regime_count>;

// exp2_double is within 2^-52 of 2^x: what is measured against it is off by at most 2^-51.
void see_ex2(Worsts& worsts, std::uint32_t bits) {
  const float x = std::bit_cast<float>(bits);
  if (!(x >= -126.0f && x < 128.0f)) return;
  const double exact = exp2_double(x);
  const double error = std::fabs(h200_ex2_approx_ftz(x) - exact) / exact;
  worsts[x < 0 ? ex2_negative : ex2_positive].see(error, bits);
}

// log2_double is within 2^-51 + 2^-53 * abs(log2 x).
void see_lg2(Worsts& worsts, std::uint32_t bits) {
  const float x = std::bit_cast<float>(bits);
  if (!(x > 0.0f && x < std::numeric_limits<float>::infinity())) return;
  const double exact = log2_double(x);
  const double error = std::fabs(h200_lg2_approx(x) - exact);
  if (x <= 0.5f) {
    worsts[lg2_low].see(error / -exact, bits);
  } else if (x >= 2.0f) {
    worsts[lg2_high].see(error / exact, bits);
  } else {
    worsts[x < 1.0f ? lg2_below_one : lg2_above_one].see(error, bits);
  }
}

// Exact: y * x has 48 bits and lies next to 1. A zero is a flushed result where 1/x is at most 2^-126, else an error
// of 1.
void see_rcp(Worsts& worsts, std::uint32_t bits) {
  const float x = std::bit_cast<float>(bits);
  if (!(std::fabs(x) >= 0x1p-126f && std::fabs(x) < std::numeric_limits<float>::infinity())) return;
  const float y = h200_rcp_approx_ftz(x);
  if (y == 0.0f && std::fabs(x) >= 0x1p126f) return;
  worsts[rcp].see(std::fabs(static_cast<double>(y) * x - 1.0), bits);
}

void see_all(Worsts& worsts, std::uint32_t bits) {
  see_ex2(worsts, bits);
  see_lg2(worsts, bits);
  see_rcp(worsts, bits);
}

Worsts sweep_block(std::uint32_t block) {
  Worsts worsts;
  for (std::uint32_t fraction = 0; fraction < (1u << 23); ++fraction) {
    see_all(worsts, (block << 23) | fraction);
  }
  return worsts;
}

// All 2^32 inputs. Blocks are merged in order, so any number of threads gives the same worst inputs.
Worsts sweep_all() {
  std::vector<Worsts> blocks(512);
  std::atomic<std::uint32_t> next{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
      threads.emplace_back([&] {
        for (std::uint32_t block = next++; block < blocks.size(); block = next++) blocks[block] = sweep_block(block);
      });
    }
  }
  Worsts all;
  for (const Worsts& block : blocks) {
    for (std::size_t regime = 0; regime < all.size(); ++regime) {
      all[regime].see(block[regime].error, block[regime].input);
    }
  }
  return all;
}

// What sfu_accuracy.cpp states for each regime: the constant and the input where the maximum is reached.
struct Stated {
  double constant;
  std::uint32_t worst_input;
};

std::array<Stated, regime_count> stated() {
  const UnitAccuracy h200 = accuracy_of(UnitKind::h200);
  return {{{0x1.3527b7p-23, 0xbf7b000c},
           {h200.ex2_relative, 0x3d8005d0},
           {h200.lg2_absolute, 0x3f075fff},
           {h200.lg2_absolute_above_one, 0x3f855fff},
           {h200.lg2_relative, 0x3ef3ffde},
           {h200.lg2_relative_above_two, 0x40028060},
           {h200.rcp_relative, 0x00ecfdfd}}};
}

// Never exceeded, and no wider than 2^-20 relative: the error of the double reference, 2^-51 + 2^-53 at the most, is
// part of it.
void expect_sharp_bound(Regime regime, const Worst& worst) {
  const double reference_error = regime == rcp ? 0.0 : 0x1.4p-51;
  const double constant = stated()[regime].constant;
  EXPECT_LE(worst.error + reference_error, constant) << kRegimeNames[regime];
  EXPECT_GE(worst.error * (1 + 0x1p-20), constant) << kRegimeNames[regime];
  EXPECT_EQ(worst.input, stated()[regime].worst_input) << kRegimeNames[regime];
}

TEST(SfuAccuracyNightlyTest, H200ConstantsAreTheMaximaOverAllInputs) {
  const Worsts worsts = sweep_all();
  for (int regime = 0; regime < regime_count; ++regime) {
    expect_sharp_bound(static_cast<Regime>(regime), worsts[static_cast<std::size_t>(regime)]);
  }
}

TEST(SfuAccuracyTest, H200ConstantsAreReachedAndHoldOnASample) {
  Worsts worsts;
  for (const Stated& s : stated()) see_all(worsts, s.worst_input);
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4099) {
    see_all(worsts, static_cast<std::uint32_t>(bits));
  }
  for (int regime = 0; regime < regime_count; ++regime) {
    expect_sharp_bound(static_cast<Regime>(regime), worsts[static_cast<std::size_t>(regime)]);
  }
}

TEST(SfuAccuracyTest, H200Lg2OfOneIsExact) {
  EXPECT_TRUE(accuracy_of(UnitKind::h200).lg2_of_one_exact);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(h200_lg2_approx(1.0f)), 0u);
}

TEST(SfuAccuracyTest, H200IsInsideTheSpecification) {
  const UnitAccuracy h200 = accuracy_of(UnitKind::h200);
  const UnitAccuracy spec = accuracy_of(UnitKind::spec);
  EXPECT_LE(h200.ex2_relative, spec.ex2_relative);
  EXPECT_LE(h200.lg2_absolute, spec.lg2_absolute);
  EXPECT_LE(h200.lg2_relative, spec.lg2_relative);
  EXPECT_LE(h200.rcp_relative, spec.rcp_relative);
  EXPECT_FALSE(spec.lg2_of_one_exact);
}

}  // namespace
}  // namespace lsecheck::sfu
