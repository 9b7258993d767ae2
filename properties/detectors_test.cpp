#include "properties/detectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "properties/case_expand.h"
#include "reference/certified_reference.h"

namespace lsecheck {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

CaseSpec small_case() {
  CaseSpec spec;
  spec.num_partitions = 4;
  spec.rows = 3;
  spec.ov_depth = 64;
  spec.out = spec.partial = DType::f32;
  spec.seed = 7;
  return spec;
}

struct Measured {
  CaseTensors tensors;
  AccuracyMeasurement measured;
};

Measured measure(const CaseSpec& spec) {
  Measured result{expand(spec), {}};
  std::optional<AccuracyMeasurement> measured;
  check_accuracy(result.tensors, *make_certified_reference(), measured);
  result.measured = *measured;
  return result;
}

bool flags(const Measured& of, Detector detector) {
  return (detectors_that_flag(of.tensors, of.measured) >> static_cast<unsigned>(detector) & 1) != 0;
}

TEST(Detectors, ThoseForLowPrecisionLetARightOutputPass) {
  const Measured right = measure(small_case());
  EXPECT_FALSE(flags(right, Detector::assert_close_bf16));
  EXPECT_FALSE(flags(right, Detector::allclose_1e_2));
  EXPECT_FALSE(flags(right, Detector::allclose_1e_3));
}

TEST(Detectors, EachHasItsOwnTolerance) {
  Measured off = measure(small_case());
  // Every element 5e-3 too large, of its own size.
  for (std::uint32_t& bits : off.measured.out_bits) {
    bits = round_to_nearest_even(DType::f32, decode(DType::f32, bits) * 1.005);
  }
  EXPECT_FALSE(flags(off, Detector::assert_close_bf16));
  EXPECT_FALSE(flags(off, Detector::allclose_1e_2));
  EXPECT_TRUE(flags(off, Detector::allclose_1e_3));
  EXPECT_TRUE(flags(off, Detector::assert_close_f32));
  EXPECT_TRUE(flags(off, Detector::twice_cast));
}

TEST(Detectors, NaNWhereAFiniteValueIsDueIsFlaggedByAll) {
  Measured nan = measure(small_case());
  nan.measured.out_bits[5] = 0x7fffffffU;
  for (std::size_t i = 0; i < kDetectorCount; ++i) EXPECT_TRUE(flags(nan, static_cast<Detector>(i)));
}

TEST(Detectors, ZerosOfAnEmptyRowAreCompared) {
  CaseSpec spec = small_case();
  spec.empties = EmptyPattern::all;
  Measured empty = measure(spec);
  EXPECT_EQ(detectors_that_flag(empty.tensors, empty.measured), 0);
  empty.measured.out_bits[0] = 0x3f800000U;
  EXPECT_TRUE(flags(empty, Detector::assert_close_bf16));
}

TEST(Detectors, ALogReadsBack) {
  Measured nan = measure(small_case());
  DetectorLog log;
  log.add(9, nan.tensors, nan.measured);
  nan.measured.out_bits[5] = 0x7fffffffU;
  log.add(4, nan.tensors, nan.measured);
  log.add(2, nan.tensors, nan.measured);
  const auto flagged = parse_detectors(detectors_text(log));
  EXPECT_THAT(flagged[static_cast<std::size_t>(Detector::allclose_1e_2)], ElementsAre(2, 4));
  EXPECT_THROW(parse_detectors("{}"), std::invalid_argument);
  EXPECT_THROW(parse_detectors("nonsense"), std::invalid_argument);
  EXPECT_THAT(parse_detectors(detectors_text(DetectorLog()))[0], IsEmpty());
}

}  // namespace
}  // namespace lsecheck
