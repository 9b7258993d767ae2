#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "kernels/sm100/mha_instantiation_table.h"
#include "reference/float_format.h"

// The instantiation table of mha_splitk_reduce as one flat list (compiled_kernels.h).
namespace lsecheck::sm100 {

struct MhaEntry {
  DType out = DType::bf16;
  DType partial = DType::bf16;
  int ov_depth = 0;
  bool natural = false;

  bool operator==(const MhaEntry&) const = default;
};

// "mha_splitk_reduce<bf16, f32, 128, false>".
inline std::string template_id(const MhaEntry& entry) {
  return "mha_splitk_reduce<" + std::string(name_of(entry.out)) + ", " + std::string(name_of(entry.partial)) + ", " +
         std::to_string(entry.ov_depth) + ", " + (entry.natural ? "true" : "false") + ">";
}

namespace mha_list {

inline constexpr std::array<DType, 3> kTypes{DType::bf16, DType::f16, DType::f32};

// visit(entry) for every entry of the table.
template <class Visit>
constexpr void for_each_entry(Visit visit) {
  for (const DType out : kTypes) {
    for (const DType partial : kTypes) {
      for (const int depth : kMhaDepths) {
        if (!mha_in_table(out, partial)) continue;
        visit(MhaEntry{out, partial, depth, false});
        visit(MhaEntry{out, partial, depth, true});
      }
    }
  }
}

constexpr std::size_t count() {
  std::size_t n = 0;
  for_each_entry([&n](const MhaEntry&) { ++n; });
  return n;
}

}  // namespace mha_list

inline constexpr auto kMhaEntries = [] {
  std::array<MhaEntry, mha_list::count()> entries{};
  std::size_t n = 0;
  mha_list::for_each_entry([&](const MhaEntry& entry) { entries[n++] = entry; });
  return entries;
}();

struct MhaTable {
  static constexpr const auto& kEntries = kMhaEntries;
};

}  // namespace lsecheck::sm100
