#include "properties/explain_fa4.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "properties/case_draw.h"
#include "properties/case_expand.h"
#include "properties/laws.h"
#include "properties/tensor_edits.h"
#include "reference/certified_reference.h"

namespace lsecheck {
namespace {

// Over drawn cases of both units: the steps give the kernel's bits on every graded element, the exact value rounds as
// the reference says, and the shares add up to the error that it measures.
TEST(ExplainFa4Test, TheStepsAreTheKernelsAndTheSharesAddUp) {
  const std::unique_ptr<Reference> reference = make_certified_reference();
  std::size_t explained = 0;
  for (const sfu::UnitKind unit : {sfu::UnitKind::h200, sfu::UnitKind::spec}) {
    DrawLimits limits;
    limits.unit = unit;
    limits.kernels = {KernelId::fa4_splitk_combine};
    for (std::uint64_t i = 0; i < 40; ++i) {
      const CaseTensors tensors = bucketed(expand(draw_spec(11, i, limits)));
      std::optional<AccuracyMeasurement> measured;
      check_accuracy(tensors, *reference, measured);
      if (!measured) continue;
      const std::size_t depth = tensors.spec.ov_depth;
      for (std::size_t element = 0; element < measured->out_bits.size(); element += depth + 3) {
        const ElementGrade& grade = measured->grades.grades[element];
        if (!measured->grades.graded[element] || !is_finite(tensors.spec.out, measured->out_bits[element])) continue;
        SCOPED_TRACE(i);
        ++explained;
        const Fa4Explanation why = explain_fa4(tensors, element / depth, element % depth);
        EXPECT_EQ(why.out_bits, measured->out_bits[element]);
        EXPECT_EQ(round_to_nearest_even(tensors.spec.out, why.exact), grade.correctly_rounded);
        const ErrorShares& ulp = why.ulp;
        const double sum = ulp.sum + ulp.global_lse + ulp.weights + ulp.folding + ulp.cast;
        const double largest = std::max({std::fabs(ulp.sum), std::fabs(ulp.global_lse), std::fabs(ulp.weights),
                                         std::fabs(ulp.folding), std::fabs(ulp.cast)});
        // Five shares, each rounded to a double once, and four additions.
        EXPECT_LE(std::fabs(sum - ulp.total), 16 * largest * 0x1p-53);
        EXPECT_LE(std::fabs(ulp.total), grade.ulp == 0 ? 0x1p-16 : grade.ulp);
        if (grade.ulp > 1) {
          EXPECT_GE(std::fabs(ulp.total), grade.ulp * (1 - 0x1p-9));
        }
      }
    }
  }
  EXPECT_GT(explained, 100u);
}

CaseTensors two_partitions(float lse0, float lse1, float o0, float o1) {
  CaseTensors tensors;
  tensors.spec.num_partitions = 2;
  tensors.spec.ov_depth = 1;
  tensors.spec.out = tensors.spec.partial = DType::f32;
  tensors.lse_partial = {lse0, lse1};
  tensors.o_partial = {std::bit_cast<std::uint32_t>(o0), std::bit_cast<std::uint32_t>(o1)};
  return tensors;
}

// Equal LSEs past 2^24: log2 of the sum is absorbed by g, every weight becomes 1, and the result is the sum.
TEST(ExplainFa4Test, AnAbsorbedSumIsBlamedOnTheGlobalLse) {
  const Fa4Explanation why = explain_fa4(two_partitions(0x1p26F, 0x1p26F, 1, 1), 0, 0);
  EXPECT_EQ(why.s.kernel, 2.0F);
  EXPECT_EQ(why.g.kernel, 0x1p26F);
  EXPECT_EQ(why.g.error, -1.0);
  EXPECT_EQ(why.partitions[1].weight.kernel, 1.0F);
  EXPECT_EQ(why.partitions[1].weight.exact, 0.5);
  EXPECT_EQ(why.exact, 1.0);
  EXPECT_EQ(why.ulp.total, 0x1p23);
  EXPECT_EQ(why.ulp.global_lse, 0x1p23);
  EXPECT_EQ(why.ulp.sum, 0);
  EXPECT_EQ(why.ulp.folding, 0);
  EXPECT_EQ(why.ulp.cast, 0);
}

TEST(ExplainFa4Test, EmptyPartitionsAreLeftOutWhateverLiesUnderThem) {
  const Fa4Explanation why = explain_fa4(two_partitions(-INFINITY, 3, NAN, 0.75F), 0, 0);
  ASSERT_EQ(why.partitions.size(), 1u);
  EXPECT_EQ(why.partitions[0].p, 1);
  EXPECT_EQ(why.exact, 0.75);
  EXPECT_EQ(why.ulp.total, 0);
}

}  // namespace
}  // namespace lsecheck
