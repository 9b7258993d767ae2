#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/worst_case.h"

// The worst cases of one kernel and one pair of types, as text: a first line with the format and what it is about, then
// for every target that was hunted a line that says how far (so that a hunt can go on) and one line per case.
//
//   lsecheck-worst format=1 generator=3 kernel=fa4_splitk_combine out=f32 partial=f32
//   hunt arch=sm_100a exponent=log2 P=2 regime=narrow metric=scaled_ulp seed=1 islands=8
//   case kernel=...
namespace lsecheck {

// One target's share of a file.
struct HuntRecord {
  HuntTarget target;
  std::uint64_t seed = 0;
  std::uint64_t islands = 0;     // of the seed's sequence that went into the cases
  std::vector<WorstCase> cases;  // by value downwards, then by text

  // Keeps the `keep` worst of the cases that are there and this one, each once.
  void add(WorstCase worst, std::size_t keep);
};

struct WorstFile {
  KernelId kernel = KernelId::fa4_splitk_combine;
  DType out = DType::f32;
  DType partial = DType::f32;
  int generator_version = kGeneratorVersion;  // that drew the populations; another one's hunts do not go on
  std::vector<HuntRecord> records;

  // The record of the target, a new one where there is none.
  HuntRecord& record_of(const HuntTarget& target);
};

std::string worst_file_name(KernelId kernel, DType out, DType partial);  // "fa4_splitk_combine.f32.f32.txt"

std::string format_worst_file(const WorstFile& file);
// Throws std::invalid_argument: "line 3: ...".
WorstFile parse_worst_file(std::string_view text);

// Throws FileError: unreadable where the content is not a file of worst cases.
WorstFile load_worst_file(const std::string& path);
void save_worst_file(const std::string& path, const WorstFile& file);  // atomic

}  // namespace lsecheck
