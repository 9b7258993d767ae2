#include "properties/explain/contract_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace lsecheck {
namespace {

constexpr sfu::Unit kUnit{sfu::UnitKind::h200, 0};

TEST(ContractRun, TheFirstStepsAreInF32AndTheOthersExact) {
  ContractRun run(1, kUnit);
  const Step first = run.step("first");
  const Step second = run.step("second");
  EXPECT_EQ(first.add(1, 0x1p-30F), 1);
  EXPECT_EQ(second.add(1, 0x1p-30F), 1 + Exact(0x1p-30F));
  EXPECT_EQ(run.step_names(), (std::vector<std::string>{"first", "second"}));
}

TEST(ContractRun, AStepInF32RefusesWhatALaterOneComputed) {
  ContractRun run(1, kUnit);
  const Step first = run.step("first");
  const Step second = run.step("second");
  EXPECT_THROW(first.mul(second.one_over(3), 1), std::logic_error);
  EXPECT_NO_THROW(first.mul(NAN, 1));
}

TEST(ContractRun, FlushAndSignedZeroBelongToF32) {
  const Step in_f32(true, kUnit);
  const Step exact(false, kUnit);
  EXPECT_EQ(in_f32.mul_ftz(0x1p-100F, 0x1p-40F), 0);
  EXPECT_EQ(in_f32.mul(0x1p-100F, 0x1p-40F), Exact(0x1p-140));
  EXPECT_EQ(exact.mul_ftz(0x1p-100F, 0x1p-40F), Exact(0x1p-140));
  EXPECT_EQ(in_f32.fma_ftz(0x1p-100F, 0x1p-40F, 0), 0);
  EXPECT_TRUE(std::signbit(in_f32.mul(-1, 0).convert_to<float>()));
}

TEST(ContractRun, ExactPowersAndLogarithms) {
  const Step exact(false, kUnit);
  EXPECT_EQ(exact.ex2(-3), Exact(0.125));
  EXPECT_EQ(exact.ex2(-INFINITY), 0);
  EXPECT_EQ(exact.lg2(1024), 10);
  EXPECT_EQ(exact.natural_to_base_2(1).convert_to<double>(), 0x1.71547652b82fep+0);
}

TEST(ContractRun, TheWarpSumIsTheButterfly) {
  // Lane 0 meets lane 16 first: 2^24 + 1 is absorbed there, the two ones of lanes 1 and 17 are not.
  std::vector<Exact> lanes(32);
  lanes[0] = 0x1p24F;
  lanes[16] = lanes[1] = lanes[17] = 1;
  EXPECT_EQ(Step(true, kUnit).warp_sum(lanes), Exact(0x1p24F) + 2);
  EXPECT_EQ(Step(false, kUnit).warp_sum(lanes), Exact(0x1p24F) + 3);
}

}  // namespace
}  // namespace lsecheck
