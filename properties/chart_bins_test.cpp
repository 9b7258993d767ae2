#include "properties/chart_bins.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lsecheck {
namespace {

TEST(ChartBinsTest, PartitionsByPowersOfTwo) {
  const int expected[][2] = {{1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {9, 4}, {128, 7}, {129, 8}, {160, 8}};
  for (const auto& [partitions, bin] : expected) EXPECT_EQ(partition_bin(partitions), bin) << partitions;
  EXPECT_EQ(partition_bin_label(0), "1");
  EXPECT_EQ(partition_bin_label(1), "2");
  EXPECT_EQ(partition_bin_label(2), "3-4");
  EXPECT_EQ(partition_bin_label(8), "129-256");
}

TEST(ChartBinsTest, MagnitudesAreHalfOpenFromBelow) {
  EXPECT_EQ(magnitude_bin(0), 0);
  EXPECT_EQ(magnitude_bin(-0.0), 0);
  EXPECT_EQ(magnitude_bin(1), 4);
  EXPECT_EQ(magnitude_bin(-1), 4);
  EXPECT_EQ(magnitude_bin(std::nextafter(1.0, 2.0)), 5);
  EXPECT_EQ(magnitude_bin(0.125), 1);
  EXPECT_EQ(magnitude_bin(1e-300), 1);
  EXPECT_EQ(magnitude_bin(0x1p27), kMagnitudeBins - 2);
  EXPECT_EQ(magnitude_bin(std::nextafter(0x1p27, 1e300)), kMagnitudeBins - 1);
  EXPECT_EQ(magnitude_bin(std::numeric_limits<double>::infinity()), kMagnitudeBins - 1);
  EXPECT_EQ(magnitude_bin_label(0), "0");
  EXPECT_EQ(magnitude_bin_label(1), "1/8");
  EXPECT_EQ(magnitude_bin_label(4), "1");
  EXPECT_EQ(magnitude_bin_label(15), "2^11");
  EXPECT_EQ(magnitude_bin_label(kMagnitudeBins - 1), "more");
}

}  // namespace
}  // namespace lsecheck
