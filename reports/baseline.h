#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "reports/accuracy_table.h"
#include "reports/stored_run.h"

// What a comparison of two runs needs of each: a line for each variant and LSE regime and one for each kernel and law.
// As text it is made to be kept beside the sources and to show in a diff which lines moved:
//
//   lsecheck baseline 1
//   # comment
//   cases NAME VALUE          what fixes the cases and their bits: generator_version, seed, cases, ...
//   accuracy KERNEL VARIANT UNIT OUT<-PARTIAL REGIME ELEMENTS CORRECTLY_ROUNDED DIGEST BOUND_USE TOKEN SCALED_ULP TOKEN
//   law KERNEL LAW CHECKED FAILED
//
// Fields are separated by single blanks; a value that nothing was seen of is "-", and so is its token. Hunts have no
// lines: a baseline is of a profile, and a night of that profile hunts another third of the targets.
namespace lsecheck {

struct WorstSeen {
  double value = -1;  // -1: nothing seen
  std::string token;

  bool operator==(const WorstSeen&) const = default;
};

struct BaselineAccuracy {
  std::uint64_t elements = 0;
  std::uint64_t correctly_rounded = 0;
  std::uint64_t digest = 0;  // of every output bit
  WorstSeen bound_use;
  WorstSeen scaled_ulp;

  bool operator==(const BaselineAccuracy&) const = default;
};

struct BaselineLaw {
  std::uint64_t checked = 0;
  std::uint64_t failed = 0;

  bool operator==(const BaselineLaw&) const = default;
};

struct Baseline {
  std::map<std::string, std::string> cases;  // two runs with equal entries ran the same cases
  std::map<AccuracyKey, BaselineAccuracy> accuracy;
  std::map<LawKey, BaselineLaw> laws;

  bool operator==(const Baseline&) const = default;
};

inline constexpr std::string_view kBaselineHeader = "lsecheck baseline 1";

Baseline baseline_of(const StoredRun& run);
std::string baseline_text(const Baseline& baseline);
// The inverse. Throws StoreError (unreadable), which names `source` and the line.
Baseline parse_baseline(std::string_view text, const std::string& source);

}  // namespace lsecheck
