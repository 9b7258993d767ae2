#include "fuzz/island_wire.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stdexcept>

namespace lsecheck {
namespace {

// Of a kernel whose partials have masses, in the form with a factor.
HuntTarget target_with_masses() {
  HuntTarget target;
  target.kernel = KernelId::fa4_ws_level2_reduce_scatter_write;
  target.exponent = ExponentForm::scaled;
  return target;
}

OutsideBound outside_of(const HuntTarget& target, std::size_t rows, const std::string& message) {
  const CaseSpec spec = *hunt_spec(target);
  return {tensors_of(spec, draw_hunt_rows(spec, 3, rows)), message};
}

void expect_read_back(const HuntTarget& target, const IslandResult& result) {
  const IslandResult read = island_from_wire(target, island_to_wire(target, result));
  EXPECT_EQ(read.best.score, result.best.score);
  EXPECT_EQ(read.best.lse, result.best.lse);
  EXPECT_EQ(read.best.mass, result.best.mass);
  EXPECT_EQ(read.best.o, result.best.o);
  ASSERT_EQ(read.outside.has_value(), result.outside.has_value());
  if (!read.outside) return;
  EXPECT_EQ(read.outside->message, result.outside->message);
  const CaseTensors& tensors = result.outside->tensors;
  EXPECT_EQ(read.outside->tensors.spec, tensors.spec);
  EXPECT_EQ(read.outside->tensors.lse_partial, tensors.lse_partial);
  EXPECT_EQ(read.outside->tensors.mass_partial, tensors.mass_partial);
  EXPECT_EQ(read.outside->tensors.o_partial, tensors.o_partial);
  EXPECT_EQ(read.outside->tensors.exponent_scale, tensors.exponent_scale);
}

TEST(IslandWire, ReadsBackWhatItWrote) {
  HuntTarget small;
  small.kernel = KernelId::mha_splitk_reduce;
  const std::atomic<bool> never{false};
  for (const HuntTarget& target : {small, target_with_masses()}) {
    IslandResult result = *run_island(target, IslandKind::random, 1, 0, never);
    ASSERT_GE(result.best.score, 0);
    expect_read_back(target, result);
    result.outside = outside_of(target, 1, "row-head 0, d 3: got 1\n1 of 64 elements");
    expect_read_back(target, result);
    expect_read_back(target, {{}, outside_of(target, 32, "")});
    expect_read_back(target, {});
  }
}

TEST(IslandWire, DamageIsRefused) {
  const HuntTarget target = target_with_masses();
  const std::string whole = island_to_wire(target, {{}, outside_of(target, 2, "")});
  for (std::size_t size = 0; size < whole.size(); size += 1 + size / 3) {
    if (size == 1) continue;  // an island that found nothing
    EXPECT_THROW(island_from_wire(target, whole.substr(0, size)), std::invalid_argument) << size;
  }
  EXPECT_THROW(island_from_wire(target, "kernel=nothing\n"), std::invalid_argument);
  EXPECT_THROW(island_from_wire(target, "\n4000000000\n" + whole), std::invalid_argument);
  HuntTarget other = target;
  other.regime = LseRegime::ties;
  const std::atomic<bool> never{false};
  const std::string of_other = island_to_wire(other, *run_island(other, IslandKind::random, 1, 0, never));
  EXPECT_THROW(island_from_wire(target, of_other), std::invalid_argument);
}

}  // namespace
}  // namespace lsecheck
