#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "kernels/sm100/mla_instantiation_table.h"
#include "reference/float_format.h"

// The instantiation table of the two MLA combines as one flat list (compiled_kernels.h).
namespace lsecheck::sm100 {

struct MlaEntry {
  DType type = DType::bf16;
  int head_dim = 0;
  int num_splits = 0;
  int warps_per_head = 0;  // kSplitParallelInstance: mla_combine_split_parallel

  bool operator==(const MlaEntry&) const = default;
};

// "mla_combine<bf16, 512, 37, 4>", "mla_combine_split_parallel<bf16, 512, 37>".
inline std::string template_id(const MlaEntry& entry) {
  const std::string arguments = "<" + std::string(name_of(entry.type)) + ", " + std::to_string(entry.head_dim) + ", " +
                                std::to_string(entry.num_splits);
  if (entry.warps_per_head == kSplitParallelInstance) return "mla_combine_split_parallel" + arguments + ">";
  return "mla_combine" + arguments + ", " + std::to_string(entry.warps_per_head) + ">";
}

namespace mla_list {

inline constexpr std::array<DType, 3> kTypes{DType::bf16, DType::f16, DType::f32};

// visit(entry) for every entry of the table.
template <class Visit>
constexpr void for_each_entry(Visit visit) {
  for (const DType type : kTypes) {
    for (const int head_dim : kMlaHeadDims) {
      for (const int num_splits : kMlaSplits) {
        if (!mla_in_table(type, head_dim, num_splits)) continue;
        visit(MlaEntry{type, head_dim, num_splits, kSplitParallelInstance});
        for (const int warps : kMlaWarpsPerHead) visit(MlaEntry{type, head_dim, num_splits, warps});
      }
    }
  }
}

constexpr std::size_t count() {
  std::size_t n = 0;
  for_each_entry([&n](const MlaEntry&) { ++n; });
  return n;
}

}  // namespace mla_list

inline constexpr auto kMlaEntries = [] {
  std::array<MlaEntry, mla_list::count()> entries{};
  std::size_t n = 0;
  mla_list::for_each_entry([&](const MlaEntry& entry) { entries[n++] = entry; });
  return entries;
}();

struct MlaTable {
  static constexpr const auto& kEntries = kMlaEntries;
};

}  // namespace lsecheck::sm100
