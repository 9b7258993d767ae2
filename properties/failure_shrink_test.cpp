#include "properties/failure_shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "properties/case_draw.h"
#include "properties/case_expand.h"
#include "properties/tensor_edits.h"

// Shrinking against stand-in laws that fail for a reason known here: what is left must be that reason and little else.
namespace lsecheck {
namespace {

// Fails while partition 32 or later of some row is not empty: what a kernel does wrong that forgets its second slot.
LawOutcome second_slot_matters(const CaseTensors& tensors, Reference&) {
  for (std::size_t p = 32; p < tensors.spec.num_partitions; ++p) {
    for (std::size_t rh = 0; rh < tensors.spec.rows_heads(); ++rh) {
      if (std::isfinite(tensors.lse_partial[tensors.lse_index(p, rh)])) return LawOutcome::fail("second slot");
    }
  }
  return LawOutcome::pass();
}

// Fails while some value is above 1 and some LSE above 16.
LawOutcome large_value_and_lse(const CaseTensors& tensors, Reference&) {
  const bool large_lse =
      std::any_of(tensors.lse_partial.begin(), tensors.lse_partial.end(), [](float x) { return x > 16; });
  const bool large_value = std::any_of(tensors.o_partial.begin(), tensors.o_partial.end(), [&](std::uint32_t bits) {
    const double value = decode(tensors.spec.partial, bits);
    return std::isfinite(value) && value > 1;
  });
  return large_lse && large_value ? LawOutcome::fail("large") : LawOutcome::pass();
}

TEST(FailureShrink, SpecKeepsWhatTheFailureNeeds) {
  const auto reference = make_exact_reference();
  const Law law{LawId::accuracy, "second slot", "", "", second_slot_matters};
  int shrunk_cases = 0;
  for (std::uint64_t i = 0; i < 60 && shrunk_cases < 5; ++i) {
    const CaseSpec spec = draw_spec(9, i, {.kernels = {KernelId::fa4_splitk_combine}});
    if (second_slot_matters(bucketed(expand(spec)), *reference).status != LawOutcome::Status::fails) continue;
    ++shrunk_cases;
    const CaseSpec shrunk = shrink_spec(spec, fails_law(law, *reference));
    EXPECT_EQ(second_slot_matters(bucketed(expand(shrunk)), *reference).status, LawOutcome::Status::fails);
    EXPECT_EQ(shrunk.num_partitions, 33) << "the smallest P with a second slot";
    EXPECT_EQ(shrunk.rows_heads(), 1U);
    EXPECT_EQ(shrunk.ov_depth, 64);
    EXPECT_EQ(shrink_spec(spec, fails_law(law, *reference)), shrunk) << "shrinking is deterministic";
  }
  EXPECT_EQ(shrunk_cases, 5);
}

TEST(FailureShrink, TensorsKeepOneLargeValueAndOneLargeLse) {
  const auto reference = make_exact_reference();
  const Law law{LawId::accuracy, "large", "", "", large_value_and_lse};
  CaseSpec spec;
  spec.num_partitions = 20;
  spec.rows = 3;
  spec.heads = 2;
  spec.ov_depth = 128;
  spec.seed = 4;
  CaseTensors tensors = expand(spec);
  tensors.lse_partial[tensors.lse_index(7, 2)] = 20.75F;
  tensors.o_partial[tensors.o_index(7, 2, 10)] = round_to_nearest_even(spec.partial, 3.14);
  const CaseTensors shrunk = shrink_tensors(tensors, fails_law(law, *reference));
  EXPECT_EQ(large_value_and_lse(shrunk, *reference).status, LawOutcome::Status::fails);
  EXPECT_EQ(shrunk.spec.num_partitions, 1);
  EXPECT_EQ(shrunk.spec.rows_heads(), 1U);
  EXPECT_EQ(shrunk.spec.ov_depth, 64);
  EXPECT_EQ(shrunk.lse_partial.front(), std::trunc(shrunk.lse_partial.front())) << "LSEs end as small integers";
  const auto non_zero =
      std::count_if(shrunk.o_partial.begin(), shrunk.o_partial.end(), [](std::uint32_t b) { return b != 0; });
  EXPECT_EQ(non_zero, 1);
}

// A split count that is no bucket cannot be launched, so what is left is padded to the next one.
TEST(FailureShrink, MlaTensorsKeepALaunchableSplitCountAndLoseTheSink) {
  const auto reference = make_exact_reference();
  const Law law{LawId::accuracy, "large", "", "", large_value_and_lse};
  CaseSpec spec;
  spec.kernel = KernelId::mla_combine;
  spec.num_partitions = 20;
  spec.rows = 2;
  spec.heads = 2;
  spec.ov_depth = 512;
  spec.sink = SinkKind::finite;
  CaseTensors tensors = expand(spec);
  tensors.lse_partial[tensors.lse_index(7, 2)] = 20.75F;
  tensors.o_partial[tensors.o_index(7, 2, 10)] = round_to_nearest_even(spec.partial, 3.14);
  const CaseTensors shrunk = shrink_tensors(tensors, fails_law(law, *reference));
  EXPECT_EQ(large_value_and_lse(shrunk, *reference).status, LawOutcome::Status::fails);
  EXPECT_EQ(shrunk.spec.num_partitions, 2);
  EXPECT_EQ(shrunk.spec.rows_heads(), 1U);
  EXPECT_EQ(shrunk.spec.ov_depth, 256);
  EXPECT_TRUE(shrunk.attention_sink.empty());
}

// Masses end at 1 but for the one the failure needs, exponents in log2 units.
TEST(FailureShrink, MassesAndTheExponentFormAreSimplified) {
  const auto reference = make_exact_reference();
  const auto large_mass = [](const CaseTensors& tensors, Reference&) {
    const auto& mass = tensors.mass_partial;
    return std::any_of(mass.begin(), mass.end(), [](float l) { return l > 4; }) ? LawOutcome::fail("large mass")
                                                                                : LawOutcome::pass();
  };
  const Law law{LawId::accuracy, "large mass", "", "", large_mass};
  CaseSpec spec;
  spec.kernel = KernelId::mha_splitk_reduce;
  spec.num_partitions = 9;
  spec.exponent = ExponentForm::natural;
  spec.mass = MassRegime::near_one;
  CaseTensors tensors = expand(spec);
  tensors.mass_partial[tensors.lse_index(7, 0)] = 5.3F;
  const CaseTensors shrunk = shrink_tensors(tensors, fails_law(law, *reference));
  EXPECT_EQ(shrunk.spec.num_partitions, 1);
  EXPECT_EQ(shrunk.spec.exponent, ExponentForm::log2);
  EXPECT_EQ(shrunk.mass_partial, std::vector<float>{5.0F});

  spec.mass = MassRegime::spread;
  const CaseSpec simplest = shrink_spec(spec, fails_law(law, *reference));
  EXPECT_EQ(large_mass(expand(simplest), *reference).status, LawOutcome::Status::fails);
  EXPECT_EQ(simplest.exponent, ExponentForm::log2);
  EXPECT_EQ(simplest.mass, MassRegime::counts) << "the simplest regime with masses above 4";
}

}  // namespace
}  // namespace lsecheck
