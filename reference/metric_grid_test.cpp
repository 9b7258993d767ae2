#include "reference/metric_grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lsecheck {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(MetricGrid, RoundsUpToItsStep) {
  EXPECT_EQ(metric_on_grid(0), 0);
  EXPECT_EQ(metric_on_grid(0x1p-1074), 0);
  EXPECT_EQ(metric_on_grid(0x1p-16), 0);
  EXPECT_EQ(metric_on_grid(std::nextafter(0x1p-16, 1)), 0x1.2p-16);
  EXPECT_EQ(metric_on_grid(0x1.3p-9), 0x1.4p-9);
  EXPECT_EQ(metric_on_grid(0x1p-7), 0x1p-7);
  EXPECT_EQ(metric_on_grid(std::nextafter(0x1p-7, 1)), 0x1p-7 + 0x1p-10);
  EXPECT_EQ(metric_on_grid(0.5), 0.5);
  EXPECT_EQ(metric_on_grid(0.50001), 0.5 + 0x1p-10);
  EXPECT_EQ(metric_on_grid(0.9999), 1);
  EXPECT_EQ(metric_on_grid(1), 1);
  EXPECT_EQ(metric_on_grid(std::nextafter(1, 2)), 1 + 0x1p-10);
  EXPECT_EQ(metric_on_grid(1000), 1000);
  EXPECT_EQ(metric_on_grid(1000.1), 1000.5);
  EXPECT_EQ(metric_on_grid(std::numeric_limits<double>::max()), kInfinity);
  EXPECT_EQ(metric_on_grid(kInfinity), kInfinity);
}

TEST(MetricGrid, NextIsTheEndOfTheNextCell) {
  for (const double v : {0.0, 0x1p-17, 0x1.8p-16, 0x1p-12, 0x1.fp-8, 0x1p-7, 0.3, 0.9999, 1.0, 1.5, 1e30}) {
    const double here = metric_on_grid(v);
    const double next = metric_grid_next(here);
    EXPECT_EQ(metric_on_grid(std::nextafter(metric_cell_top(here), kInfinity)), next) << v;
    EXPECT_EQ(metric_on_grid(next), next) << v;
  }
}

TEST(MetricGrid, ScalingByAPowerOfTwoMeetsTheQuotientsCell) {
  for (int step = 0; step < 4000; ++step) {
    const double cell = std::exp2(step * 0.01 - 20);
    for (const double v : {cell, metric_on_grid(cell), std::nextafter(metric_on_grid(cell), 0),
                           std::nextafter(metric_on_grid(cell), kInfinity)}) {
      for (int k = 0; k < 40; k += 3) {
        const double ratio = std::ldexp(1.0, -k);
        EXPECT_EQ(metric_scaled(metric_on_grid(v), ratio), metric_on_grid(v * ratio)) << v << " / 2^" << k;
      }
    }
  }
}

}  // namespace
}  // namespace lsecheck
