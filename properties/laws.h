#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "properties/case_tensors.h"
#include "properties/grade_case.h"
#include "reference/grade.h"

// The laws of design section 6 for the registered kernels. A law takes a case, derives what it needs from it (its own
// random choices come from the case's seed and the law's number), runs the kernel and says whether the law holds.
//
// Kinds: "statistic" is a test with a stated rate of false alarms (distribution.h). "bits" compares outputs after
// mapping -0 to +0 and every NaN to one NaN, since fma(0, x, -0) = +0 makes zero signs depend on how many terms were
// folded. "=" compares every bit. "bound" holds the derived output against the exact value and the kernel's bound.
namespace lsecheck {

// Numbers are part of a token: never reused, only appended.
enum class LawId : std::uint8_t {
  accuracy = 0,
  all_empty_row = 1,
  garbage_ignored = 2,
  single_partition = 3,
  trailing_empties = 4,
  empty_anywhere = 5,
  permutation = 6,
  equal_partitions = 7,
  lse_shift = 8,
  value_scaling = 9,
  negation = 10,
  convexity = 11,
  rung_is_runtime = 12,
  row_independence = 13,
  every_output_written = 14,
  schedule_order = 15,
  hierarchical = 16,
  special_values = 17,
  twin = 18,
  warps_per_head_agree = 19,
  ragged_is_dense = 20,
  sink_absent = 21,
  fast_is_production = 22,
  frozen_digest = 23,
  distribution = 24,
  large_grid = 25
};

struct LawOutcome {
  enum class Status : std::uint8_t { holds, fails, not_applicable };
  Status status = Status::holds;
  std::string message;  // fails: what was seen; not_applicable: which premise is missing

  static LawOutcome pass() { return {}; }
  static LawOutcome fail(std::string why) { return {Status::fails, std::move(why)}; }
  static LawOutcome skip(std::string why) { return {Status::not_applicable, std::move(why)}; }
};

// For accuracy: what was measured, for the statistics of a run.
struct AccuracyMeasurement {
  KernelVariant variant;
  std::vector<std::uint32_t> out_bits;
  CaseGrades grades;
};

struct Law {
  LawId id;
  std::string_view name;
  std::string_view kind;       // "bits", "=", "bound", "contract", "statistic"
  std::string_view statement;  // one line
  LawOutcome (*check)(const CaseTensors& tensors, Reference& reference);
  // Says something of a kernel over cases of its own, not of the case at hand: evaluated once a run, after its cases.
  bool of_run = false;
};

// law.check, with an exception turned into a failure: a case must not take the run down with it. A device that fails
// and memory that is missing are no failures of the law: cuda::DeviceError and std::bad_alloc pass through.
LawOutcome check_guarded(const Law& law, const CaseTensors& tensors, Reference& reference);

// In the order of LawId.
std::span<const Law> all_laws();
const Law* find_law(std::string_view name);
const Law* find_law(std::uint8_t id);

// The accuracy law, with its measurement when the kernel ran. Guarded likewise.
LawOutcome check_accuracy(const CaseTensors& tensors, Reference& reference,
                          std::optional<AccuracyMeasurement>& measurement);

}  // namespace lsecheck
