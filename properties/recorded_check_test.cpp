#include "properties/recorded_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "properties/recorded_test_kernels.h"
#include "properties/safetensors.h"

namespace lsecheck::recorded_test {
namespace {

using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- Planted mistakes.

// Every partition matters: spread of a few units, no empties, distinct values.
Recording ordinary(std::size_t num_partitions = 5, std::size_t rows_heads = 9) {
  std::mt19937_64 random(7);
  Recording recording{.num_partitions = num_partitions,
                      .rows_heads = rows_heads,
                      .depth = 6,
                      .lse = {},
                      .o = {},
                      .out = {},
                      .out_lse = {}};
  for (std::size_t i = 0; i < num_partitions * rows_heads; ++i) {
    recording.lse.push_back(static_cast<float>(4 * uniform(random)));
  }
  for (std::size_t i = 0; i < num_partitions * rows_heads * recording.depth; ++i) {
    recording.o.push_back(static_cast<float>(2 * uniform(random) - 1));
  }
  return recording;
}

// The output a mistaken kernel records: correct arithmetic on inputs that the mistake changed.
Recording with_mistake(Recording recording, const Freedom& freedom, const std::function<void(Recording&)>& change) {
  Recording changed = recording;
  change(changed);
  std::mt19937_64 random(3);
  combine_all(changed, freedom, CombineClass::flat, random);
  recording.out = changed.out;
  return recording;
}

void expect_cause(const Recording& recording, const std::string& cause, std::uint64_t rows,
                  ExponentBase base = ExponentBase::log2) {
  for (const auto combine : {CombineClass::flat, CombineClass::online, CombineClass::pairwise}) {
    const CheckReport report = check(recording, {.base = base, .combine = combine});
    EXPECT_FALSE(report.clean());
    EXPECT_EQ(report.failing_rows, rows) << describe(report);
    ASSERT_FALSE(report.causes.empty()) << describe(report);
    EXPECT_THAT(report.causes.front().text, HasSubstr(cause)) << describe(report);
    EXPECT_EQ(report.causes.front().rows_fit, rows);
    EXPECT_EQ(report.causes.size(), 1u) << describe(report);
  }
}

TEST(RecordedCheck, NamesAMixUpOfLogarithms) {
  const Freedom natural{.base = ExponentBase::natural};
  expect_cause(with_mistake(ordinary(), natural, [](Recording&) {}), "the output fits natural-log LSEs, not log2", 9);
  expect_cause(with_mistake(ordinary(), {}, [](Recording&) {}), "the output fits log2 LSEs, not natural-log", 9,
               ExponentBase::natural);
}

TEST(RecordedCheck, NamesADroppedPartition) {
  const auto drop = [](std::size_t p) {
    return [p](Recording& recording) {
      for (std::size_t rh = 0; rh < recording.rows_heads; ++rh) recording.lse[p * recording.rows_heads + rh] = -kInf;
    };
  };
  expect_cause(with_mistake(ordinary(), {}, drop(4)), "partition 4 (the last) is left out", 9);
  expect_cause(with_mistake(ordinary(), {}, drop(0)), "partition 0 (the first) is left out", 9);
  expect_cause(with_mistake(ordinary(), {}, drop(2)), "partition 2 is left out", 9);
}

TEST(RecordedCheck, NamesAPartitionCountedTwice) {
  const auto twice = [](Recording& recording) {
    for (std::size_t rh = 0; rh < recording.rows_heads; ++rh) recording.lse[4 * recording.rows_heads + rh] += 1.0f;
  };
  expect_cause(with_mistake(ordinary(), {}, twice), "partition 4 (the last) is counted twice", 9);
}

TEST(RecordedCheck, NamesMissingWeights) {
  Recording recording = ordinary();
  const auto unweighted = [&](float divisor) {
    recording.out.clear();
    for (std::size_t rh = 0; rh < recording.rows_heads; ++rh) {
      for (std::size_t d = 0; d < recording.depth; ++d) {
        const Values column = recording.column(rh, d);
        recording.out.push_back(std::accumulate(column.begin(), column.end(), 0.0f) / divisor);
      }
    }
    return recording;
  };
  expect_cause(unweighted(1), "the output is the sum of the partitions", 9);
  expect_cause(unweighted(5), "the output is the mean of the partitions", 9);
}

TEST(RecordedCheck, NamesAnOutputThatEqualsAnInput) {
  Recording recording = ordinary();
  recording.out.assign(recording.o.begin() + 9 * 6, recording.o.begin() + 2 * 9 * 6);
  expect_cause(recording, "the output equals the input of partition 1", 9);
}

TEST(RecordedCheck, NoCauseIsNamedWhereNoneFits) {
  Recording recording = with_mistake(ordinary(), {}, [](Recording&) {});
  recording.out[3 * 6 + 2] += 0.25f;
  const CheckReport report = check(recording, {});
  EXPECT_EQ(report.failing_elements, 1u);
  EXPECT_EQ(report.failing_rows, 1u);
  EXPECT_THAT(report.causes, IsEmpty());
  ASSERT_EQ(report.worst.size(), 1u);
  EXPECT_EQ(report.worst[0].row_head, 3u);
  EXPECT_EQ(report.worst[0].depth_index, 2u);
  EXPECT_EQ(report.worst[0].kind, FindingKind::outside_bound);
  EXPECT_GT(report.worst[0].bound_use, 1000);
  EXPECT_GT(report.worst[0].ulp, 1e5);
  EXPECT_NEAR(report.worst[0].exact, report.worst[0].got - 0.25, 1e-5);
}

TEST(RecordedCheck, WorstElementsComeFirstAndAreFew) {
  Recording recording = with_mistake(ordinary(), {}, [](Recording&) {});
  for (std::size_t i = 0; i < recording.out.size(); ++i) recording.out[i] += 0.001f * static_cast<float>(i + 1);
  const CheckReport report = check(recording, {});
  EXPECT_EQ(report.failing_elements, 54u);
  ASSERT_EQ(report.worst.size(), CheckReport::kMaxWorst);
  EXPECT_TRUE(std::is_sorted(report.worst.begin(), report.worst.end(),
                             [](const Finding& a, const Finding& b) { return a.bound_use > b.bound_use; }));
}

// ---- Special values.

TEST(RecordedCheck, AllEmptyRowsMustBeZero) {
  Recording recording = with_mistake(ordinary(), {}, [](Recording&) {});
  for (std::size_t p = 0; p < 5; ++p) recording.lse[p * 9 + 2] = -kInf;
  recording.out_lse.assign(9, 0);
  for (std::size_t rh = 0; rh < 9; ++rh)
    recording.out_lse[rh] = flat({}, recording.row_lse(rh), recording.row_lse(rh)).lse;
  const auto fill = [&](float value) {
    for (std::size_t d = 0; d < 6; ++d) recording.out[2 * 6 + d] = value;
  };
  fill(-0.0f);
  CheckReport report = check(recording, {});
  EXPECT_TRUE(report.clean()) << describe(report);
  EXPECT_EQ(report.all_empty_rows, 1u);
  EXPECT_EQ(report.graded_lse, 9u);

  fill(kNaN);
  report = check(recording, {});
  EXPECT_EQ(report.failing_elements, 6u);
  EXPECT_EQ(report.failing_rows, 1u);
  EXPECT_EQ(report.worst[0].kind, FindingKind::all_empty_not_zero);
  EXPECT_THAT(report.causes,
              ::testing::ElementsAre(Field(&Cause::text, HasSubstr("NaN where every partition is empty"))));

  fill(1e-30f);
  EXPECT_THAT(check(recording, {}).causes,
              ::testing::ElementsAre(Field(&Cause::text, HasSubstr("nonzero output where every partition"))));

  fill(0);
  recording.out_lse[2] = kNaN;
  EXPECT_EQ(check(recording, {}).failing_elements, 1u);
}

TEST(RecordedCheck, GarbageUnderAnEmptyPartitionMustNotLeak) {
  Recording recording = ordinary();
  for (std::size_t d = 0; d < 6; ++d) recording.o[(3 * 9 + 4) * 6 + d] = d % 2 == 0 ? kNaN : kInf;
  recording.lse[3 * 9 + 4] = -kInf;
  recording = with_mistake(recording, {}, [](Recording&) {});
  EXPECT_TRUE(check(recording, {}).clean());
  for (std::size_t d = 0; d < 6; ++d) recording.out[4 * 6 + d] = kNaN;
  const CheckReport report = check(recording, {});
  EXPECT_EQ(report.failing_elements, 6u);
  EXPECT_EQ(report.worst[0].kind, FindingKind::not_finite);
  EXPECT_THAT(report.causes, ::testing::ElementsAre(Field(&Cause::text, HasSubstr("0 * NaN"))));
}

TEST(RecordedCheck, NonFiniteInputsMakeNonFiniteOutputsDue) {
  Recording recording = ordinary();
  recording.o[(1 * 9 + 4) * 6 + 0] = kNaN;
  recording.o[(1 * 9 + 4) * 6 + 1] = kInf;
  recording.lse[2 * 9 + 5] = -300;  // weight 0 in f32
  recording.o[(2 * 9 + 5) * 6 + 3] = kNaN;
  recording = with_mistake(recording, {}, [](Recording&) {});
  EXPECT_TRUE(std::isnan(recording.out[4 * 6 + 0]));
  EXPECT_TRUE(std::isinf(recording.out[4 * 6 + 1]));
  for (const float legal : {recording.out[5 * 6 + 3], kNaN, kInf}) {  // dropped, or 0 * NaN
    recording.out[5 * 6 + 3] = legal;
    const CheckReport report = check(recording, {});
    EXPECT_TRUE(report.clean()) << describe(report);
  }
  recording.out[5 * 6 + 3] = 3;  // but not a wrong number
  EXPECT_EQ(check(recording, {}).failing_elements, 1u);
  recording.out[5 * 6 + 3] = kNaN;
  recording.out[4 * 6 + 0] = 0.5f;
  recording.out[4 * 6 + 1] = 0.5f;
  const CheckReport report = check(recording, {});
  EXPECT_EQ(report.failing_elements, 2u);
  EXPECT_EQ(report.worst[0].kind, FindingKind::not_nan);
}

TEST(RecordedCheck, NonFiniteOutputsOfFiniteInputsAreFlagged) {
  Recording recording = with_mistake(ordinary(), {}, [](Recording&) {});
  recording.out[7] = kNaN;
  recording.out[20] = -kInf;
  const CheckReport report = check(recording, {});
  EXPECT_EQ(report.failing_elements, 2u);
  for (const Finding& finding : report.worst) EXPECT_EQ(finding.kind, FindingKind::not_finite);
}

TEST(RecordedCheck, OverflowIsAllowedWhereTheClassMayOverflow) {
  Recording recording = ordinary();
  for (float& o : recording.o) o = 3e38f;
  recording.out.assign(9 * 6, 3e38f);
  EXPECT_TRUE(check(recording, {}).clean());
  recording.out[5] = kInf;  // the unnormalised sum overflows
  EXPECT_TRUE(check(recording, {}).clean());
  recording.out[5] = 1e38f;
  EXPECT_EQ(check(recording, {}).failing_elements, 1u);
}

TEST(RecordedCheck, RowsWithNaNOrPositiveInfiniteLseAreCountedNotGraded) {
  Recording recording = with_mistake(ordinary(), {}, [](Recording&) {});
  recording.lse[3] = kNaN;
  recording.lse[9 + 5] = kInf;
  for (std::size_t d = 0; d < 6; ++d) recording.out[3 * 6 + d] = recording.out[5 * 6 + d] = kNaN;
  const CheckReport report = check(recording, {});
  EXPECT_TRUE(report.clean()) << describe(report);
  EXPECT_EQ(report.special_rows, 2u);
  EXPECT_EQ(report.graded_elements, 7u * 6u);
}

TEST(RecordedCheck, LseOfTheWrongBaseIsNamed) {
  Recording recording = ordinary();
  std::mt19937_64 random(3);
  combine_all(recording, {}, CombineClass::flat, random);
  EXPECT_TRUE(check(recording, {}).clean());
  for (float& lse : recording.out_lse) lse *= kLn2;
  const CheckReport report = check(recording, {});
  EXPECT_EQ(report.failing_elements, 9u);
  EXPECT_TRUE(report.worst[0].is_lse);
  ASSERT_EQ(report.causes.size(), 1u);
  EXPECT_THAT(report.causes[0].text, HasSubstr("out_lse is a natural-log LSE, not a log2 one"));
  EXPECT_EQ(report.causes[0].rows_fit, 9u);
}

// ---- Files.

std::string refusal(const std::vector<SafetensorsEntry>& entries) {
  const std::string path =
      ::testing::TempDir() + "lsecheck_recorded_refusal" + std::to_string(::getpid()) + ".safetensors";
  write_safetensors(path, entries, {});
  const SafetensorsFile file = read_safetensors(path, 1 << 20);
  std::remove(path.c_str());
  try {
    recorded_tensors(file);
  } catch (const FileError& error) {
    EXPECT_EQ(error.kind(), FileErrorKind::unreadable);
    return error.what();
  }
  return "accepted";
}

TEST(RecordedTensors, ShapesAreChecked) {
  const std::vector<std::byte> zeros(4096);
  const auto tensor = [&](const char* name, const std::vector<std::uint64_t>& shape, DType type = DType::f16) {
    std::uint64_t bytes = size_of(type);
    for (const auto extent : shape) bytes *= extent;
    return SafetensorsEntry{name, type, shape, std::span(zeros).first(bytes)};
  };
  const auto o = tensor("o_partial", {3, 2, 5, 4}), lse = tensor("lse_partial", {3, 2, 5}),
             out = tensor("out", {2, 5, 4}), out_lse = tensor("out_lse", {2, 5}, DType::f32);
  EXPECT_EQ(refusal({o, lse, out, out_lse}), "accepted");
  EXPECT_EQ(refusal({o, tensor("lse_partial", {3, 10}), tensor("out", {10, 4}), tensor("out_lse", {10})}), "accepted");
  const auto flat_o = tensor("o_partial", {3, 10, 4});
  EXPECT_EQ(refusal({flat_o, lse, out, out_lse}), "accepted");
  EXPECT_THAT(refusal({o, lse}), HasSubstr("no tensor `out`"));
  EXPECT_THAT(refusal({o, out}), HasSubstr("no tensor `lse_partial`"));
  EXPECT_THAT(refusal({lse, out}), HasSubstr("no tensor `o_partial`"));
  EXPECT_THAT(refusal({tensor("o_partial", {3, 4}), lse, out}), HasSubstr("[3, 4]; it must be [P, rows, heads, D]"));
  EXPECT_THAT(refusal({tensor("o_partial", {3, 0, 4}), lse, out}), HasSubstr("nothing to check"));
  EXPECT_THAT(refusal({o, tensor("lse_partial", {3, 5, 2}), out}),
              HasSubstr("`lse_partial` has shape [3, 5, 2]; to go with o_partial it must be [3, 2, 5] or [3, 10]"));
  EXPECT_THAT(refusal({flat_o, tensor("lse_partial", {3, 3, 5}), out}), HasSubstr("it must be [3, 10]"));
  EXPECT_THAT(refusal({o, lse, tensor("out", {2, 5, 3})}), HasSubstr("`out` has shape [2, 5, 3]"));
  EXPECT_THAT(refusal({o, lse, out, tensor("out_lse", {2, 4})}), HasSubstr("`out_lse` has shape [2, 4]"));
}

}  // namespace
}  // namespace lsecheck::recorded_test
