#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/sm100/mha_instances.h"
#include "kernels/sm100/mha_instantiation_table.h"
#include "kernels/sm100/mha_splitk_reduce_kernel.h"
#include "kernels/sm100/test_combine.h"
#include "reference/grade.h"

// What mha_splitk_reduce computes: cases by hand, every instantiation against plain loops, its bound and special
// values.
namespace lsecheck::sm100 {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

const CombineKernel& kernel() {
  return mha_splitk_reduce_kernel();
}

CombineShape shape_of(int num_partitions, std::uint32_t rows = 1, std::uint32_t heads = 1, DType out = DType::f32,
                      DType partial = DType::f32, int depth = 64, ExponentForm form = ExponentForm::log2,
                      Arch arch = Arch::sm_100a) {
  return {arch, num_partitions, rows, heads, depth, out, partial, form};
}

// Every partition starts with a maximum of -inf and a mass of 0, over NaN bits.
struct MhaBatch : RowBatch {
  explicit MhaBatch(const CombineShape& of) : RowBatch(of), mass(lse.size(), 0.0F) {}
  std::vector<float> mass;

  void put(std::size_t p, std::size_t row_head, float m, float l, double value) {
    fill(p, row_head, m, value);
    mass[p * rows_heads() + row_head] = l;
  }
  std::vector<float> mass_of_row(std::size_t row_head) const {
    std::vector<float> row(num_partitions());
    for (std::size_t p = 0; p < row.size(); ++p) row[p] = mass[p * rows_heads() + row_head];
    return row;
  }
};

std::vector<std::uint32_t> launch_mha(const MhaBatch& batch, const ExecutionOptions& options = {}) {
  EXPECT_EQ(kernel().refuse(batch.shape), std::nullopt);
  const auto bytes_of = [](const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  const std::vector<std::byte> lse = bytes_of(batch.lse);
  const std::vector<std::byte> mass = bytes_of(batch.mass);
  const std::vector<std::byte> o = to_storage(batch.shape.partial, batch.o);
  std::vector<std::byte> output(batch.rows_heads() * batch.depth() * size_of(batch.shape.out), std::byte{0xa5});
  const auto fault =
      kernel().launch(batch.shape, kernel().variants(batch.shape).front(), {lse, o, output, {}, mass}, options);
  EXPECT_FALSE(fault.has_value()) << fault->message;
  return from_storage(batch.shape.out, output);
}

// The contract once more, one row as plain loops: the f32 values before the cast.
std::vector<float> scalar_row(const CombineShape& shape, std::span<const float> m, std::span<const float> l,
                              std::span<const std::uint32_t> o, const sfu::Unit& unit) {
  bool any_nan = false;
  float largest = kEmpty;
  for (const float value : m) {
    any_nan = any_nan || std::isnan(value);
    largest = larger_number(largest, value);
  }
  if (any_nan && shape.arch == Arch::sm_100a) largest = NAN;
  std::vector<float> weights;
  std::array<float, 32> lanes{};
  for (std::size_t p = 0; p < m.size(); ++p) {
    float difference = m[p] - largest;
    if (shape.exponent == ExponentForm::natural) difference = difference * 0x1.715476p+0F;
    weights.push_back(l[p] * sfu::ex2_approx_ftz(unit, difference));
    lanes[p] = weights.back();
  }
  for (std::size_t half = 16; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] = lanes[lane] + lanes[lane + half];
  }
  const float inverse = 1.0F / lanes[0];
  std::vector<float> out;
  for (std::size_t d = 0; d < static_cast<std::size_t>(shape.ov_depth); ++d) {
    float acc = 0, c = 0;
    for (std::size_t p = 0; p < m.size(); ++p) {
      const auto value = static_cast<float>(decode(shape.partial, o[p * static_cast<std::size_t>(shape.ov_depth) + d]));
      const float term = weights[p] > 0 ? value * weights[p] : 0.0F * weights[p];
      const float y = term - c;
      const float t = acc + y;
      c = (t - acc) - y;
      acc = t;
    }
    out.push_back(acc * inverse);
  }
  return out;
}

std::vector<std::uint32_t> expected(const MhaBatch& batch, const sfu::Unit& unit) {
  std::vector<std::uint32_t> out;
  for (std::size_t row = 0; row < batch.rows_heads(); ++row) {
    for (const float value :
         scalar_row(batch.shape, batch.lse_of_row(row), batch.mass_of_row(row), batch.o_of_row(row), unit)) {
      out.push_back(std::isnan(value) ? nan_bits(batch.shape.out) : round_to_nearest_even(batch.shape.out, value));
    }
  }
  return out;
}

std::vector<std::uint32_t> all(double value) {
  return std::vector<std::uint32_t>(64, round_to_nearest_even(DType::f32, value));
}

TEST(MhaSplitkReduce, WeightsAreMassesTimesPowers) {
  MhaBatch batch(shape_of(3));
  batch.put(0, 0, 5.0F, 2.0F, 3.0);
  batch.put(2, 0, 4.0F, 4.0F, 1.0);  // 2 * 1 and 4 * 2^-1: equal weights
  EXPECT_EQ(launch_mha(batch), all(2.0));
  batch.mass[2] = 12.0F;  // 2 and 6
  EXPECT_EQ(launch_mha(batch), all(1.5));
}

TEST(MhaSplitkReduce, NaturalExponentsGoThroughLog2e) {
  MhaBatch batch(shape_of(2, 1, 1, DType::bf16, DType::bf16, 64, ExponentForm::natural));
  batch.put(0, 0, 0.0F, 1.0F, 8.0);
  batch.put(1, 0, -0.6931472F, 2.0F, -4.0);  // e^-ln 2 * 2 = 1
  EXPECT_THAT(launch_mha(batch), Each(round_to_nearest_even(DType::bf16, 2.0)));
}

TEST(MhaSplitkReduce, AMassOfZeroEmptiesAPartitionWhateverItsMaximum) {
  MhaBatch batch(shape_of(4));
  batch.put(0, 0, 1.0F, 3.0F, 7.0);
  for (const float stale : {kEmpty, -50.0F, 1.0F, 90.0F}) {
    batch.lse[2] = stale;  // over NaN bits
    EXPECT_EQ(launch_mha(batch), all(7.0)) << stale;
  }
}

TEST(MhaSplitkReduce, AStaleMaximumFarAboveTheRestGivesNan) {
  MhaBatch batch(shape_of(2));
  batch.put(0, 0, 0.0F, 1.0F, 7.0);
  batch.lse[1] = 127.0F;
  EXPECT_THAT(launch_mha(batch), Each(nan_bits(DType::f32)));
}

TEST(MhaSplitkReduce, AllEmptyGivesNan) {
  MhaBatch batch(shape_of(5, 2, 3, DType::f16, DType::f16));
  EXPECT_THAT(launch_mha(batch), Each(nan_bits(DType::f16)));
  batch.lse.assign(batch.lse.size(), 3.0F);
  EXPECT_THAT(launch_mha(batch), Each(nan_bits(DType::f16)));
}

// 31 terms of 2^-25 beside 1 are lost one by one without the compensation.
TEST(MhaSplitkReduce, SumsAreCompensated) {
  MhaBatch batch(shape_of(32));
  batch.put(0, 0, 0.0F, 1.0F, 1.0);
  for (std::size_t p = 1; p < 32; ++p) batch.put(p, 0, 0.0F, 1.0F, 0x1p-25);
  EXPECT_EQ(launch_mha(batch), all((1 + 0x1p-20) / 32));
}

TEST(MhaSplitkReduce, RowsDoNotMix) {
  MhaBatch batch(shape_of(4, 7, 11, DType::f32, DType::f32, 96));
  for (std::size_t row = 0; row < 77; ++row)
    batch.put(row % 4, row, static_cast<float>(row), 1, static_cast<double>(row));
  const auto out = launch_mha(batch);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t row = i / 96;
    ASSERT_EQ(decode(DType::f32, out[i]), static_cast<double>(row));
  }
}

MhaBatch drawn_batch(const CombineShape& shape, Draw& draw) {
  MhaBatch batch(shape);
  for (std::size_t row = 0; row < batch.rows_heads(); ++row) {
    const double offset = row % 3 == 2 ? 1e4 : 0;
    const double spread = row % 3 == 1 ? 150 : 4;
    const double mass = std::array{1.0, 4000.0, 0x1p-126}[static_cast<std::size_t>(draw.below(3))];
    for (std::size_t p = 0; p < batch.num_partitions(); ++p) {
      if (draw.below(5) == 0) {
        if (draw.below(2) == 0) batch.lse_at(p, row) = draw.single(offset - spread, offset + spread);
        continue;
      }
      batch.put(p, row, draw.single(offset - spread, offset + spread), draw.single(0.25 * mass, mass), 0);
      for (std::uint32_t& bits : batch.o_at(p, row)) bits = round_to_nearest_even(shape.partial, draw.uniform(-2, 2));
    }
  }
  return batch;
}

TEST(MhaSplitkReduce, EqualsThePlainLoopsInEveryInstantiation) {
  Draw draw(1);
  std::uint64_t turn = 0;
  for (const MhaInstance& instance : mha_instances()) {
    const ExponentForm form = instance.natural ? ExponentForm::natural : ExponentForm::log2;
    for (const int num_partitions : {1, 7, 32}) {
      const MhaBatch batch = drawn_batch(
          shape_of(num_partitions, 2, 3, instance.out, instance.partial, instance.ov_depth, form, kAllArchs[turn % 3]),
          draw);
      ExecutionOptions options;
      options.unit = turn % 4 == 3 ? sfu::Unit{} : sfu::Unit{sfu::UnitKind::spec, turn};
      options.schedule = turn % 2 == 0 ? Schedule::lockstep : Schedule::random;
      options.schedule_seed = ++turn;
      ASSERT_EQ(launch_mha(batch, options), expected(batch, options.unit))
          << name_of(instance.out) << "<-" << name_of(instance.partial) << " D " << instance.ov_depth << " P "
          << num_partitions;
    }
  }
  EXPECT_EQ(mha_instances().size(), 5U * kMhaDepths.size() * 2);
}

struct Column {
  std::vector<float> m;
  std::vector<float> l;
  std::vector<double> o;
};

RowExpectation expectation_of(const MhaBatch& batch, sfu::UnitKind unit) {
  const auto m = batch.lse_of_row(0);
  const auto l = batch.mass_of_row(0);
  const auto o = batch.o_of_row(0);
  return kernel().expect(batch.shape, {}, {m, o, std::nullopt, l}, unit);
}

// What the contract says of the column; every unit's output is held against it.
std::uint8_t due_of(const Column& column, DType out = DType::f32, Arch arch = Arch::sm_100a) {
  MhaBatch batch(shape_of(static_cast<int>(column.m.size()), 1, 1, out, DType::f32, 64, ExponentForm::log2, arch));
  for (std::size_t p = 0; p < column.m.size(); ++p) batch.put(p, 0, column.m[p], column.l[p], column.o[p]);
  std::uint8_t due = 0;
  for (const sfu::Unit unit : {sfu::Unit{sfu::UnitKind::spec, 1}, sfu::Unit{sfu::UnitKind::spec, 2}, sfu::Unit{}}) {
    const RowExpectation row = expectation_of(batch, unit.kind);
    due = row.row_class == RowClass::all_nan ? std::uint8_t{kNaN} : row.due[0];
    ExecutionOptions options;
    options.unit = unit;
    const std::uint32_t bits = launch_mha(batch, options)[0];
    const int seen = is_nan(out, bits)       ? int{kNaN | kNaNByOverflow}
                     : !is_inf(out, bits)    ? kFinite
                     : decode(out, bits) > 0 ? int{kPositiveInf}
                                             : int{kNegativeInf};
    EXPECT_NE(due & seen, 0) << name_of(unit.kind) << " gave " << bits;
  }
  return due;
}

TEST(MhaSpecialValues, FollowTheContractTable) {
  constexpr std::uint8_t kNotFinite = kNaN | kPositiveInf | kNegativeInf;
  struct Line {
    Column column;
    std::uint8_t due;
  };
  const Line table[] = {
      {{{0, -1}, {1, 1}, {1, 2}}, kFinite},
      {{{NAN, -1}, {1, 1}, {1, 2}}, kNaN},
      {{{NAN, -1}, {0, 1}, {1, 2}}, kNaN},
      {{{kInf, -1}, {1, 1}, {1, 2}}, kNaN},
      {{{0, -1}, {1, NAN}, {1, 2}}, kNaN},
      {{{0, kEmpty}, {1, NAN}, {1, 2}}, kNaN},
      {{{0, -1}, {1, kInf}, {1, 2}}, kNaN},
      {{{kEmpty, kEmpty}, {0, 0}, {1, 2}}, kNaN},
      {{{0, 3}, {0, 0}, {1, 2}}, kNaN},
      // A weight of 0: no mass, flushed, or no exponent.
      {{{0, -1}, {1, 0}, {1, NAN}}, kFinite},
      {{{0, -127}, {1, 1}, {1, kInf}}, kFinite},
      {{{0, kEmpty}, {1, 1}, {1, NAN}}, kFinite},
      // Flushed or not: the unit's choice.
      {{{0, -126}, {1, 1}, {1, kInf}}, kFinite | kPositiveInf},
      {{{-126, 0}, {1, 1}, {kInf, 1}}, kFinite | kNaN},
      // 2^-149 * 2^-1 is a tie between 0 and 2^-149: even a unit that is right may go either way.
      {{{0, -1}, {1, 0x1p-149F}, {1, kInf}}, kFinite | kPositiveInf},
      {{{0, -2}, {1, 0x1p-149F}, {1, kInf}}, kFinite},
      // Inf comes through under the last partition only: the compensation makes NaN of it.
      {{{0, -1}, {1, 1}, {1, kInf}}, kPositiveInf},
      {{{0, -1}, {1, 1}, {1, -kInf}}, kNegativeInf},
      {{{0, -1}, {1, 1}, {kInf, 1}}, kNaN},
      {{{0, -1}, {1, 0}, {kInf, 1}}, kNaN},
      {{{0, -1}, {1, 1}, {1, NAN}}, kNaN},
      // Sums of finite values overflow: to Inf, which is graded, or to NaN.
      {{{0, 0}, {16, 16}, {3e37, 3e37}}, kFinite | kNaNByOverflow},
      // Weights that add up to less than 2^-128 have no finite reciprocal.
      {{{0, -1}, {0x1p-140F, 0x1p-140F}, {1, 1}}, kNotFinite},
      {{{120, 0}, {0, 0x1p-8F}, {1, 1}}, kFinite | kNotFinite},
      {{{126, 0}, {0, 1}, {1, 1}}, kFinite | kNotFinite},
      {{{127, 0}, {0, 1}, {1, 1}}, kNaN},
  };
  for (const Arch arch : kAllArchs) {
    for (const Line& line : table) {
      EXPECT_EQ(due_of(line.column, DType::f32, arch), line.due)
          << ::testing::PrintToString(line.column.m) << ::testing::PrintToString(line.column.l)
          << ::testing::PrintToString(line.column.o);
    }
  }
}

// +Inf from the sums where -Inf is due: its sign is not held against the kernel, nor anything else.
TEST(MhaSpecialValues, SumsThatOverflowWhereInfIsDueMayGiveAnything) {
  const Column column{{0, 0, 0}, {16, 16, 16}, {3e37, 3e37, -6.5e37}};
  EXPECT_EQ(due_of(column, DType::f16), kFinite | kNaN | kPositiveInf | kNegativeInf);
}

// The f32 value before the cast against the exact one, as a share of the bound: never above 1, and not a bound that any
// kernel would meet.
TEST(MhaSplitkReduce, BoundHoldsForEveryUnitAndIsNotLoose) {
  const auto reference = make_exact_reference();
  for (const sfu::UnitKind kind : {sfu::UnitKind::h200, sfu::UnitKind::spec}) {
    double largest = 0;
    for (std::uint64_t i = 0; i < 150; ++i) {
      Draw draw(i);
      const ExponentForm form = i % 2 == 0 ? ExponentForm::log2 : ExponentForm::natural;
      // The bound is a matter of the row alone: few columns serve.
      const CombineShape shape = shape_of(std::array{1, 2, 9, 32}[i % 4], 1, 1, DType::f32, DType::f32, 8, form);
      MhaBatch batch(shape);
      const double offset = std::array{0.0, 300.0, -1e5}[i / 4 % 3];
      const double spread = std::array{0.5, 4.0, 30.0, 140.0}[i / 12 % 4];
      for (std::size_t p = 0; p < batch.num_partitions(); ++p) {
        if (draw.below(5) == 0) continue;
        batch.put(p, 0, draw.single(offset - spread, offset + spread),
                  draw.single(0.5, 3) * (i % 5 == 4 ? 0x1p-120F : 1), 0);
        const double low = i % 3 == 0 ? -2 : 0.5;
        for (std::uint32_t& bits : batch.o_at(p, 0)) bits = round_to_nearest_even(DType::f32, draw.uniform(low, 2));
      }
      batch.put(0, 0, draw.single(offset, offset + spread), 1.5F, 1.25);
      if (batch.num_partitions() > 2 && i % 7 == 0) batch.put(1, 0, static_cast<float>(offset + spread), 0.0F, 1.0);
      const RowExpectation row = expectation_of(batch, kind);
      ASSERT_EQ(row.row_class, RowClass::finite);
      if (row.due[0] != kFinite) continue;
      const RowBound bound = kernel().bound(shape, row, kind);
      for (std::uint64_t seed = 0; seed < (kind == sfu::UnitKind::spec ? 4 : 1); ++seed) {
        std::vector<std::uint32_t> bits;
        for (const float value :
             scalar_row(shape, batch.lse_of_row(0), batch.mass_of_row(0), batch.o_of_row(0), {kind, seed})) {
          bits.push_back(std::bit_cast<std::uint32_t>(value));
        }
        std::vector<ElementGrade> grades(bits.size());
        reference->grade_row(row.problem(), {DType::f32, bits, bound.bound_before_cast, bound.inf_allowed}, grades);
        for (const ElementGrade& grade : grades) {
          ASSERT_TRUE(grade.within_bound && !grade.undecided)
              << "row " << i << " seed " << seed << ": " << grade.bound_use;
          largest = std::max(largest, grade.bound_use);
        }
      }
    }
    EXPECT_GT(largest, 1.0 / 3) << name_of(kind);
    EXPECT_LE(largest, 1.0);
  }
}

TEST(MhaSplitkReduce, RefusesByName) {
  const auto refusal = [](const CombineShape& shape) { return kernel().refuse(shape).value_or("accepted"); };
  EXPECT_EQ(refusal(shape_of(32)), "accepted");
  EXPECT_THAT(refusal(shape_of(33)), HasSubstr("num_partitions = 33: mha_splitk_reduce takes 1 to 32"));
  EXPECT_THAT(refusal(shape_of(0)), HasSubstr("num_partitions = 0"));
  EXPECT_THAT(refusal(shape_of(2, 1, 1, DType::f32, DType::f32, 72)),
              AllOf(HasSubstr("ov_depth = 72"), HasSubstr("32, 64, 96, 128, 256")));
  EXPECT_THAT(refusal(shape_of(2, 1, 1, DType::f32, DType::bf16)), HasSubstr("partials bf16 with output f32"));
  EXPECT_THAT(refusal(shape_of(2, 65536)), HasSubstr("rows = 65536"));
  EXPECT_THAT(refusal(shape_of(2, 1, 65536)), HasSubstr("heads = 65536"));
  EXPECT_THAT(refusal(shape_of(2, 1, 1, DType::f32, DType::f32, 64, ExponentForm::scaled)),
              HasSubstr("scaled exponents"));
  EXPECT_EQ(kernel().launchable_partitions(shape_of(5)), 5);
  EXPECT_EQ(kernel().launchable_partitions(shape_of(33)), std::nullopt);
}

}  // namespace
}  // namespace lsecheck::sm100
