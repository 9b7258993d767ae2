#include <gtest/gtest.h>

#include <boost/multiprecision/mpfr.hpp>

#include "kernels/sm100/fa4_weight_error.h"
#include "kernels/sm100/mla_instances.h"
#include "kernels/sm100/test_mla.h"
#include "reference/sink_exponent.h"

// The weights that mla_combine's operations give with a sink, under the measured unit and the adversary, against the
// true ones to 1000 bits; and the small pieces beside it.
namespace lsecheck::sm100 {
namespace {

using Exact = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<300>>;

Exact exp2_exact(const Exact& x) {
  Exact result;
  mpfr_exp2(result.backend().data(), x.backend().data(), MPFR_RNDN);
  return result;
}

Exact log2_e() {
  Exact ln2;
  mpfr_const_log2(ln2.backend().data(), MPFR_RNDN);
  return Exact(1) / ln2;
}

// 2^x_p / (sum 2^x_q + e^sink).
std::vector<Exact> exact_weights(const std::vector<float>& lse, float sink) {
  const float m = *std::max_element(lse.begin(), lse.end());
  Exact sum = sink == kEmpty ? Exact(0) : exp2_exact(Exact(sink) * log2_e() - Exact(m));
  std::vector<Exact> weights;
  for (const float value : lse) {
    weights.push_back(value == kEmpty ? Exact(0) : exp2_exact(Exact(value) - Exact(m)));
    sum += weights.back();
  }
  for (Exact& weight : weights) weight /= sum;
  return weights;
}

struct Drawn {
  std::vector<float> lse;
  float sink;
};

// Sinks beside the mass of the row, far above it (around 2^126 .. 2^129 times the mass too), far below, and -inf.
Drawn draw_row(std::uint64_t seed) {
  Draw draw(seed);
  constexpr std::array<int, 6> kSplits{2, 3, 9, 32, 37, 80};
  constexpr std::array<double, 7> kOffsets{0, 0, 0, 50, -1e3, 1e5, 0x1p25};
  constexpr std::array<double, 4> kSpreads{0.1, 3, 40, 160};
  const double offset = kOffsets[seed % kOffsets.size()];
  const double spread = kSpreads[seed / 7 % kSpreads.size()];
  Drawn row;
  for (int p = 0; p < kSplits[seed / 28 % kSplits.size()]; ++p) {
    row.lse.push_back(draw.below(5) == 0 ? kEmpty : draw.single(offset - spread, offset + spread));
  }
  row.lse[0] = draw.single(offset - spread, offset + spread);
  constexpr std::array<double, 8> kAbove{0, 0, 3, -5, 30, 120, -160, 300};
  const double above = kAbove[static_cast<std::size_t>(draw.below(8))] + draw.uniform(-2, 2);
  const double edge = 126 + draw.uniform(0, 3);
  row.sink = static_cast<float>((offset + spread + (draw.below(6) == 0 ? edge : above)) * 0.69314718);
  if (draw.below(9) == 0) row.sink = kEmpty;
  return row;
}

TEST(MlaWeightError, HoldsWithEverySinkAndUnitAndIsNotLoose) {
  for (const sfu::UnitKind kind : {sfu::UnitKind::h200, sfu::UnitKind::spec}) {
    double largest = 0;
    std::array<std::size_t, 4> fates{};
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const Drawn row = draw_row(i);
      const std::vector<double> x(row.lse.begin(), row.lse.end());
      const std::vector<Exact> exact = exact_weights(row.lse, row.sink);
      const auto bounds = fa4_weight_errors(x, sfu::accuracy_of(kind), row.sink);
      const auto computed = mla_scalar_weights(row.lse, row.sink, Arch::sm_100a, {kind, i});
      for (std::size_t p = 0; p < x.size(); ++p) {
        const Fa4PartitionWeight& w = bounds[p];
        ++fates[static_cast<std::size_t>(w.fate)];
        if (w.fate == WeightFate::empty) continue;
        ASSERT_TRUE(exact[p] <= w.weight_up) << i;
        if (exact[p] > Exact(0x1p-900)) {
          ASSERT_TRUE(abs(Exact(w.weight_near) - exact[p]) <= Exact(kWeightNearError) * exact[p]) << i;
        }
        if (w.fate == WeightFate::zero) {
          ASSERT_EQ(computed[p], 0.0F) << i;
        }
        if (w.fate == WeightFate::nonzero) {
          ASSERT_GE(computed[p], 0x1p-126F) << i;
        }
        const Exact error = abs(Exact(computed[p]) - exact[p]);
        ASSERT_TRUE(error <= Exact(w.relative_error) * exact[p])
            << "row " << i << " split " << p << " sink " << row.sink << ": " << computed[p] << " is off by "
            << Exact(error / exact[p]) << " relative, allowed " << w.relative_error;
        if (w.fate == WeightFate::nonzero && error != 0) {
          largest = std::max(largest, Exact(error / (Exact(w.relative_error) * exact[p])).convert_to<double>());
        }
      }
    }
    EXPECT_GT(largest, 0.2) << name_of(kind);
    EXPECT_LE(largest, 1.0);
    EXPECT_GT(fates[static_cast<std::size_t>(WeightFate::nonzero)], 1000U);
    EXPECT_GT(fates[static_cast<std::size_t>(WeightFate::zero)], 100U);
    EXPECT_GT(fates[static_cast<std::size_t>(WeightFate::either)], 0U);
  }
}

TEST(SinkExponent, IsRoundedFromManyBits) {
  EXPECT_EQ(sink_exponent_above(0.0, 3.0), -3.0);
  EXPECT_EQ(sink_exponent_above(1.0, 0.0), 0x1.71547652b82fep+0);
  // What is left of log2(e) where its first 24 bits cancel.
  EXPECT_NEAR(sink_exponent_above(1.0, static_cast<double>(0x1.715476p+0F)), 1.92596e-8, 1e-12);
  EXPECT_NEAR(sink_exponent_above(0x1p100, static_cast<double>(0x1.715476p+100F)) / 0x1p100, 1.92596e-8, 1e-12);
}

// (15 + 5 + 5 at head dimension 512, 2 + 2 at 256) x (4 numbers of warps per head and the split-parallel kernel).
TEST(MlaInstances, EveryTableEntryIsCompiledAndNothingElse) {
  std::size_t in_table = 0;
  for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
    for (const int head_dim : kMlaHeadDims) {
      for (const int splits : kMlaSplits) {
        for (const int warps : {kSplitParallelInstance, 1, 2, 4, 8}) {
          const MlaInstance* const instance = find_mla_instance(type, head_dim, splits, warps);
          ASSERT_EQ(instance != nullptr, mla_in_table(type, head_dim, splits));
          in_table += instance != nullptr;
        }
      }
    }
  }
  EXPECT_EQ(in_table, 29U * 5);
  EXPECT_EQ(mla_instances().size(), in_table);
  EXPECT_EQ(find_mla_instance(DType::bf16, 512, 5, 8), nullptr);
}

}  // namespace
}  // namespace lsecheck::sm100
