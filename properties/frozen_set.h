#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "properties/case_spec.h"
#include "reference/reference_kind.h"

// The frozen cases: a fixed part of a fixed sequence of every kernel and cases of many rows in f32, run by every
// variant of its shape on the CPU with sfu h200. A hash of all output bits is kept in properties/frozen/*.txt, so that
// whoever changes a bit on purpose shows it in a diff, and whoever does so unawares is told.
namespace lsecheck {

inline constexpr std::uint64_t kFrozenSeed = 20261130;

// "fa4_splitk_combine rung sm_90 bf16<-f32".
struct FrozenKey {
  std::string kernel;
  std::string variant;
  std::string arch;
  std::string types;

  auto operator<=>(const FrozenKey&) const = default;
};

struct FrozenRow {
  std::uint64_t cases = 0;
  std::uint64_t digest = 0;  // of every output bit of these cases, in their order
  // The largest seen, -1 where nothing was graded; the token replays the case of the largest scaled_ulp.
  double scaled_ulp = -1;
  double bound_use = -1;
  std::string token;

  bool operator==(const FrozenRow&) const = default;
};

using FrozenRows = std::map<FrozenKey, FrozenRow>;

std::vector<CaseSpec> frozen_cases(KernelId kernel);

// Runs the frozen cases of a kernel that belong to the wanted rows. Without errors the rows hold counts, digests and
// the token of their first case. A fault of the executor stands in the digest as its own text does.
enum class FrozenErrors : std::uint8_t { leave_out, measure };
inline bool every_row(const FrozenKey&) {
  return true;
}
FrozenRows measure_frozen(KernelId kernel, FrozenErrors errors,
                          const std::function<bool(const FrozenKey&)>& wanted = every_row);

// One line a row: KERNEL VARIANT ARCH TYPES CASES DIGEST SCALED_ULP BOUND_USE TOKEN; '#' starts a comment. Lines of one
// kernel stand together, so that a change of one kernel shows as one block of a diff.
std::string frozen_text(const FrozenRows& rows);
// Throws std::invalid_argument, which names the line.
FrozenRows parse_frozen(std::string_view text);

// The rows that this program was built with.
const FrozenRows& recorded_frozen_rows();

}  // namespace lsecheck
