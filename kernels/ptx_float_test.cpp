#include "kernels/ptx_float.h"

#include <gtest/gtest.h>

#include <limits>

// The .ftz operations as an H200 computes them; every line was run there.
namespace lsecheck {
namespace {

struct Line {
  float a, b, c;
  float product;  // mul.ftz(a, b)
  float sum;      // fma.rn.ftz(a, b, c)
  float maximum;  // max.ftz(a, b)
};

constexpr Line kMeasured[] = {
    // Exact products just below 2^-126: 2^-126 - 2^-150 is flushed, though it rounds to 2^-126 among the subnormals;
    // 2^-126 - 2^-172 is 2^-126 once it has 24 bits.
    {0x1.fffffep-64F, 0x1p-63F, 0, 0, 0, 0x1p-63F},
    {0x1.001p-63F, 0x1.ffep-64F, 0, 0, 0, 0x1.001p-63F},
    {0x1.000002p-63F, 0x1.fffffcp-64F, 0, 0x1p-126F, 0x1p-126F, 0x1.000002p-63F},
    {-0x1.000002p-63F, 0x1.fffffcp-64F, 0, -0x1p-126F, -0x1p-126F, 0x1.fffffcp-64F},
    {0x1.fffffcp-64F, 0x1p-63F, 0, 0, 0, 0x1p-63F},
    // Subnormal operands.
    {0x1p-127F, 1, 0x1p-126F, 0, 0x1p-126F, 1},
    {-0x1p-127F, 1, -0.0F, -0.0F, -0.0F, 1},
    {-0.0F, 0, -0.0F, -0.0F, -0.0F, 0},
    {0x1p-149F, 0x1p126F, 0, 0, 0, 0x1p126F},
    {1, 0x1p-127F, 0x1p-126F, 0, 0x1p-126F, 1},
    {0x1.000002p-63F, 0x1p-63F, -0x1p-149F, 0x1.000002p-126F, 0x1.000002p-126F, 0x1.000002p-63F},
    {0x1.8p-126F, 1, -0x1p-127F, 0x1.8p-126F, 0x1.8p-126F, 1},
    {0x1p-126F, 1, -0x1p-126F, 0x1p-126F, 0, 1},
    // Sums of normal terms that end below, at and above 2^-126.
    {0x1p-62F, 0x1p-63F, -0x1.000002p-126F, 0x1p-125F, 0, 0x1p-62F},
    {0x1.000002p-62F, 0x1.fffffcp-64F, -0x1p-126F, 0x1p-125F, 0x1p-126F, 0x1.000002p-62F},
    {0x1.fffffep-63F, 0x1.000002p-63F, -0x1p-126F, 0x1p-125F, 0x1.000002p-126F, 0x1.fffffep-63F},
};

TEST(PtxFloat, FlushesAsTheHardwareDoes) {
  for (const Line& line : kMeasured) {
    EXPECT_EQ(bits_of(mul_ftz(line.a, line.b)), bits_of(line.product)) << line.a << " * " << line.b;
    EXPECT_EQ(bits_of(fma_rn_ftz(line.a, line.b, line.c)), bits_of(line.sum))
        << line.a << " * " << line.b << " + " << line.c;
    EXPECT_EQ(bits_of(max_ftz(line.a, line.b)), bits_of(line.maximum)) << line.a << ", " << line.b;
  }
}

TEST(PtxFloat, FlushingKeepsSpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(mul_ftz(kInfinity, -1), -kInfinity);
  EXPECT_TRUE(mul_ftz(kInfinity, 0x1p-127F) != mul_ftz(kInfinity, 0x1p-127F)) << "Inf times a flushed operand is NaN";
  EXPECT_EQ(fma_rn_ftz(2, 3, -kInfinity), -kInfinity);
  EXPECT_TRUE(fma_rn_ftz(kNan, 1, 1) != fma_rn_ftz(kNan, 1, 1));
  EXPECT_EQ(max_ftz(kNan, -2), -2) << "the operand that is a number wins";
  EXPECT_EQ(bits_of(max_ftz(-0x1p-130F, -1)), bits_of(-0.0F));
}

}  // namespace
}  // namespace lsecheck
