#include "kernels/sm100/fa4_row_contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "kernels/sm100/test_combine.h"

namespace lsecheck::sm100 {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> lses(int num_partitions, float value) {
  return std::vector<float>(static_cast<std::size_t>(num_partitions), value);
}

RowClass class_on(Arch arch, const std::vector<float>& lse, int p_static = 0) {
  return fa4_row_class(lse, arch, p_static);
}

// --- the table ---

TEST(Fa4RowClass, NumbersAlone) {
  for (const Arch arch : kAllArchs) {
    for (const int p_static : {0, 2}) {
      EXPECT_EQ(class_on(arch, {kEmpty, kEmpty}, p_static), RowClass::zeros);
      EXPECT_EQ(class_on(arch, {kEmpty, -0x1p100F}, p_static), RowClass::finite);
      EXPECT_EQ(class_on(arch, {3.0F, 4.0F}, p_static), RowClass::finite);
    }
  }
}

TEST(Fa4RowClass, PlusInfIsNanEverywhere) {
  for (const Arch arch : kAllArchs) {
    for (const int p_static : {0, 2}) {
      EXPECT_EQ(class_on(arch, {kInfinity, 1.0F}, p_static), RowClass::all_nan);
      EXPECT_EQ(class_on(arch, {kEmpty, kInfinity}, p_static), RowClass::all_nan);
      EXPECT_EQ(class_on(arch, {kInfinity, kInfinity}, p_static), RowClass::all_nan);
      EXPECT_EQ(class_on(arch, {kInfinity, kNan}, p_static), RowClass::all_nan);
    }
  }
}

TEST(Fa4RowClass, ANanBesideANumberIsNanEverywhere) {
  for (const Arch arch : kAllArchs) {
    for (const int p_static : {0, 2}) {
      EXPECT_EQ(class_on(arch, {kNan, 1.0F}, p_static), RowClass::all_nan);
      EXPECT_EQ(class_on(arch, {1.0F, kNan}, p_static), RowClass::all_nan);
    }
  }
}

// One slot per lane: the instruction of sm_100a sees the NaN, the butterfly of the others drops it.
TEST(Fa4RowClass, ANanAmongEmptiesDependsOnTheChip) {
  for (const std::size_t position : {0U, 1U, 31U}) {
    std::vector<float> lse = lses(32, kEmpty);
    lse[position] = kNan;
    EXPECT_EQ(class_on(Arch::sm_100a, lse, 32), RowClass::all_nan);
    EXPECT_EQ(class_on(Arch::sm_103a, lse, 32), RowClass::zeros);
    EXPECT_EQ(class_on(Arch::sm_90, lse, 32), RowClass::zeros);
  }
}

// Several slots: the lane's own maximum drops the NaN as soon as one of its slots holds a number, -inf included, and an
// unused slot holds -inf. The runtime kernel always has five.
TEST(Fa4RowClass, AnEmptySlotHidesTheNanBesideItEvenOnSm100a) {
  std::vector<float> lse = lses(64, kEmpty);
  lse[5] = kNan;
  EXPECT_EQ(class_on(Arch::sm_100a, lse, 64), RowClass::zeros);
  EXPECT_EQ(class_on(Arch::sm_100a, lse, 0), RowClass::zeros);
  lse[37] = kNan;  // now both slots of lane 5
  EXPECT_EQ(class_on(Arch::sm_100a, lse, 64), RowClass::all_nan);
  EXPECT_EQ(class_on(Arch::sm_100a, lse, 0), RowClass::zeros);
  EXPECT_EQ(class_on(Arch::sm_103a, lse, 64), RowClass::zeros);
  EXPECT_EQ(class_on(Arch::sm_90, lse, 64), RowClass::zeros);

  lse = {kNan, kEmpty};
  EXPECT_EQ(class_on(Arch::sm_100a, lse, 2), RowClass::all_nan);
  EXPECT_EQ(class_on(Arch::sm_100a, lse, 0), RowClass::zeros);

  // Lane 0 of 33 partitions has two slots used, lane 1 one: the other one is -inf.
  lse = lses(48, kEmpty);
  lse[20] = kNan;
  EXPECT_EQ(class_on(Arch::sm_100a, lse, 48), RowClass::zeros);
  lse = lses(160, kEmpty);
  for (const std::size_t slot : {0U, 1U, 2U, 3U, 4U}) lse[32 * slot + 7] = kNan;
  EXPECT_EQ(class_on(Arch::sm_100a, lse, 0), RowClass::all_nan);
}

// Where no lane has a number the butterfly has nothing to prefer over NaN.
TEST(Fa4RowClass, NanInEverySlotIsNanEverywhere) {
  for (const Arch arch : kAllArchs) {
    for (const int p : {32, 64, 96, 160}) EXPECT_EQ(class_on(arch, lses(p, kNan), p), RowClass::all_nan) << p;
    EXPECT_EQ(class_on(arch, lses(160, kNan), 0), RowClass::all_nan);
    // An unused slot anywhere is a number.
    EXPECT_EQ(class_on(arch, lses(64, kNan), 0), RowClass::zeros);
  }
  for (const Arch arch : {Arch::sm_90, Arch::sm_103a}) {
    EXPECT_EQ(class_on(arch, lses(31, kNan), 0), RowClass::zeros);
    EXPECT_EQ(class_on(arch, lses(18, kNan), 18), RowClass::zeros);
  }
}

// --- the kernel agrees ---

bool is_due(const RowExpectation& row, std::size_t d, DType type, std::uint32_t bits) {
  switch (row.row_class) {
    case RowClass::zeros:
      return bits == 0;
    case RowClass::all_nan:
      return bits == nan_bits(type);
    case RowClass::finite:
      break;
  }
  if (is_nan(type, bits)) return (row.due[d] & kNaN) != 0 && bits == nan_bits(type);
  if (is_inf(type, bits)) return (row.due[d] & (decode(type, bits) > 0 ? kPositiveInf : kNegativeInf)) != 0;
  return (row.due[d] & kFinite) != 0;
}

// Launches every variant on every chip and unit and holds each element against the contract.
void expect_kernel_agrees(RowBatch batch) {
  for (const Arch arch : kAllArchs) {
    batch.shape.arch = arch;
    for (const KernelVariant& variant : fa4_combine_kernel().variants(batch.shape)) {
      for (const sfu::Unit unit : {sfu::Unit{}, sfu::Unit{sfu::UnitKind::spec, 3}}) {
        ExecutionOptions options;
        options.unit = unit;
        const std::vector<std::uint32_t> out = launch(batch, variant, options);
        for (std::size_t row = 0; row < batch.rows_heads(); ++row) {
          const std::vector<float> lse = batch.lse_of_row(row);
          const std::vector<std::uint32_t> o = batch.o_of_row(row);
          const RowExpectation expectation = fa4_combine_kernel().expect(batch.shape, variant, {lse, o}, unit.kind);
          for (std::size_t d = 0; d < batch.depth(); ++d) {
            ASSERT_TRUE(is_due(expectation, d, batch.shape.out, out[row * batch.depth() + d]))
                << name_of(arch) << " " << variant.name << " " << name_of(unit.kind) << " P "
                << batch.shape.num_partitions << " row " << row << " element " << d << ": got " << std::hex
                << out[row * batch.depth() + d] << ", class " << static_cast<int>(expectation.row_class);
          }
        }
      }
    }
  }
}

// NaNs of either sign, quiet and signalling.
float nan_number(std::size_t i) {
  constexpr std::array<std::uint32_t, 4> kNans{0x7fc00000U, 0xffc00000U, 0x7f800001U, 0xff812345U};
  return std::bit_cast<float>(kNans[i % kNans.size()]);
}

// One row per assignment of {-inf, finite, +inf, NaN} to `varied`, `rest` everywhere else.
RowBatch lse_patterns(int num_partitions, const std::vector<std::size_t>& varied, float rest) {
  const std::uint32_t rows = 1U << (2 * varied.size());
  RowBatch batch({Arch::sm_100a, num_partitions, rows, 1, 64, DType::bf16, DType::bf16});
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t p = 0; p < batch.num_partitions(); ++p) batch.fill(p, row, rest, 1.25);
    for (std::size_t i = 0; i < varied.size(); ++i) {
      const std::array<float, 4> choices{kEmpty, static_cast<float>(i) - 1.5F, kInfinity, nan_number(row + i)};
      batch.fill(varied[i], row, choices[(row >> (2 * i)) & 3U], -0.5);
    }
  }
  return batch;
}

TEST(Fa4RowContract, KernelAgreesOnEveryPatternOfFewPartitions) {
  expect_kernel_agrees(lse_patterns(1, {0}, 0));
  expect_kernel_agrees(lse_patterns(2, {0, 1}, 0));
  expect_kernel_agrees(lse_patterns(3, {0, 1, 2}, 0));
  expect_kernel_agrees(lse_patterns(4, {0, 1, 2, 3}, 0));
}

TEST(Fa4RowContract, KernelAgreesOnPatternsOverTwoSlotsOfTwoLanes) {
  for (const float rest : {kEmpty, 0.75F, kNan}) {
    expect_kernel_agrees(lse_patterns(32, {0, 1, 31}, rest));
    expect_kernel_agrees(lse_patterns(33, {0, 1, 32}, rest));
    expect_kernel_agrees(lse_patterns(64, {0, 1, 32, 33}, rest));
    expect_kernel_agrees(lse_patterns(96, {3, 35, 67}, rest));
    expect_kernel_agrees(lse_patterns(132, {3, 131}, rest));
    expect_kernel_agrees(lse_patterns(148, {19, 147}, rest));
    expect_kernel_agrees(lse_patterns(160, {31, 159}, rest));
  }
}

// --- values that are not finite ---

std::uint32_t special_bits(DType type, double value) {
  return round_to_nearest_even(type, value);
}

struct DueCase {
  std::vector<float> lse;
  std::vector<double> o;  // one per partition, the same at every depth
  std::uint8_t due;
};

void expect_due(const DueCase& c, sfu::UnitKind unit) {
  RowBatch batch({Arch::sm_100a, static_cast<int>(c.lse.size()), 1, 1, 64, DType::bf16, DType::bf16});
  for (std::size_t p = 0; p < c.lse.size(); ++p) {
    batch.lse_at(p, 0) = c.lse[p];
    for (std::uint32_t& bits : batch.o_at(p, 0)) bits = special_bits(DType::bf16, c.o[p]);
  }
  const std::vector<float> lse = batch.lse_of_row(0);
  const std::vector<std::uint32_t> o = batch.o_of_row(0);
  const RowExpectation row = fa4_expectation(batch.shape, 0, {lse, o}, sfu::accuracy_of(unit));
  ASSERT_EQ(row.row_class, RowClass::finite);
  EXPECT_THAT(row.due, ::testing::Each(c.due)) << ::testing::PrintToString(c.lse) << ::testing::PrintToString(c.o);
  for (const double value : row.a) EXPECT_TRUE(std::isfinite(value)) << "the row problem must be finite";
  expect_kernel_agrees(batch);
}

TEST(Fa4RowContract, DueSetsOfSpecialValues) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr auto finite_or = [](int more) { return static_cast<std::uint8_t>(kFinite | more); };
  const std::vector<DueCase> cases{
      // Under an empty partition nothing counts.
      {{0, kEmpty}, {1, nan}, kFinite},
      {{kEmpty, 0}, {inf, 1}, kFinite},
      // Nor under a weight that certainly underflows.
      {{0, -200}, {1, nan}, kFinite},
      {{0, -200}, {1, -inf}, kFinite},
      {{0, -0x1p100F}, {1, nan}, kFinite},
      {{-0x1p100F, 1e6F}, {nan, 1}, kFinite},
      {{0, -126.01F}, {1, nan}, kFinite},
      // Under a weight that is not zero everything does.
      {{0, -125.9F}, {1, nan}, kNaN},
      {{0, -1}, {1, inf}, kPositiveInf},
      {{0, -1}, {-inf, 1}, kNegativeInf},
      {{0, -1}, {-inf, -inf}, kNegativeInf},
      {{0, -1}, {-inf, inf}, kNaN},
      {{0, -1, 2}, {1, inf, nan}, kNaN},
      {{0, -200}, {inf, nan}, kPositiveInf},
      // On the threshold 2^-126 of the flush either may happen.
      {{0, -126}, {1, nan}, finite_or(kNaN)},
      {{0, -126}, {1, inf}, finite_or(kPositiveInf)},
      {{0, -126}, {1, -inf}, finite_or(kNegativeInf)},
      {{0, -126, -126}, {1, inf, -inf}, finite_or(kPositiveInf | kNegativeInf | kNaN)},
      {{0, -126}, {inf, -inf}, kPositiveInf | kNaN},
      {{0, -126}, {inf, inf}, kPositiveInf},
      {{0, -126}, {inf, nan}, kPositiveInf | kNaN},
      {{0, -126}, {nan, inf}, kNaN},
  };
  for (const DueCase& c : cases) {
    for (const sfu::UnitKind unit : {sfu::UnitKind::h200, sfu::UnitKind::spec}) expect_due(c, unit);
  }
}

// At LSEs near 2^26 every weight is 1, so the finite partials alone overflow f32 to an Inf of their own before the
// partial that is Inf is met.
TEST(Fa4RowContract, AnInfMayMeetAnOverflowOfTheOtherSign) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double huge = max_finite(DType::bf16);
  for (const sfu::UnitKind unit : {sfu::UnitKind::h200, sfu::UnitKind::spec}) {
    expect_due({{0x1p26F, 0x1p26F, 0x1p26F}, {-huge, -huge, inf}, kPositiveInf | kNaN}, unit);
    expect_due({{0x1p26F, 0x1p26F, 0x1p26F}, {inf, -huge, -huge}, kPositiveInf | kNaN}, unit);
    expect_due({{0x1p26F, 0x1p26F, 0x1p26F}, {huge, huge, -inf}, kNegativeInf | kNaN}, unit);
    // Whether the weight of the Inf is flushed or not, here everything is possible.
    expect_due({{0x1p26F, 0x1p26F, 0x1p26F - 124}, {-huge, -huge, inf}, kPositiveInf | kNaN | kNegativeInf | kFinite},
               unit);
    // Far from overflow nothing changes.
    expect_due({{0x1p26F, 0x1p26F, 0x1p26F}, {-huge / 8, -huge / 8, inf}, kPositiveInf}, unit);
  }
}

TEST(Fa4RowContract, DueIsDecidedElementByElement) {
  RowBatch batch({Arch::sm_100a, 2, 1, 1, 64, DType::f16, DType::f32});
  batch.fill(0, 0, 1.0F, 0.5);
  batch.fill(1, 0, 0.0F, 0.25);
  batch.o_at(0, 0)[3] = 0xffc00001U;
  batch.o_at(1, 0)[9] = 0xff800000U;
  const std::vector<float> lse = batch.lse_of_row(0);
  const std::vector<std::uint32_t> o = batch.o_of_row(0);
  const RowExpectation row = fa4_expectation(batch.shape, 2, {lse, o}, sfu::accuracy_of(sfu::UnitKind::h200));
  for (std::size_t d = 0; d < 64; ++d) {
    EXPECT_EQ(row.due[d], d == 3 ? kNaN : d == 9 ? kNegativeInf : kFinite);
    EXPECT_EQ(row.a[d], d == 3 ? 0.0 : 0.5);
    EXPECT_EQ(row.a[64 + d], d == 9 ? 0.0 : 0.25);
  }
  EXPECT_EQ(row.x, (std::vector<double>{1.0, 0.0}));
  expect_kernel_agrees(batch);
}

}  // namespace
}  // namespace lsecheck::sm100
