#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "kernels/sm100/fa4_instantiation_table.h"
#include "reference/float_format.h"

// The instantiation tables of fa4_splitk_combine and of its faster variant as flat lists (compiled_kernels.h).
namespace lsecheck::sm100 {

struct Fa4Entry {
  DType out = DType::bf16;
  DType partial = DType::bf16;
  int ov_depth = 0;
  int p_static = 0;

  bool operator==(const Fa4Entry&) const = default;
};

// "fa4_splitk_combine<bf16, f32, 128, 37>".
inline std::string template_id(const Fa4Entry& entry) {
  return "fa4_splitk_combine<" + std::string(name_of(entry.out)) + ", " + std::string(name_of(entry.partial)) + ", " +
         std::to_string(entry.ov_depth) + ", " + std::to_string(entry.p_static) + ">";
}

// fa4_splitk_combine_fast.
struct Fa4FastEntry {
  DType out = DType::bf16;
  DType partial = DType::bf16;
  int ov_depth = 0;
  int load_bytes = 0;

  bool operator==(const Fa4FastEntry&) const = default;
};

// "fa4_splitk_combine_fast<bf16, f32, 128, 16>".
inline std::string template_id(const Fa4FastEntry& entry) {
  return "fa4_splitk_combine_fast<" + std::string(name_of(entry.out)) + ", " + std::string(name_of(entry.partial)) +
         ", " + std::to_string(entry.ov_depth) + ", " + std::to_string(entry.load_bytes) + ">";
}

namespace fa4_list {

inline constexpr std::array<DType, 3> kTypes{DType::bf16, DType::f16, DType::f32};

// visit(entry) for every entry of the table.
template <class Visit>
constexpr void for_each_entry(Visit visit) {
  for (const DType out : kTypes) {
    for (const DType partial : kTypes) {
      for (const int depth : kFa4Depths) {
        for (const int p_static : kFa4PStatics) {
          if (fa4_in_table(out, partial, depth, p_static)) visit(Fa4Entry{out, partial, depth, p_static});
        }
      }
    }
  }
}

template <class Visit>
constexpr void for_each_fast_entry(Visit visit) {
  for (const DType out : kTypes) {
    for (const DType partial : kTypes) {
      for (const int depth : kFa4Depths) {
        for (const int load_bytes : kFa4FastLoadBytes) {
          if (fa4_in_table(out, partial, depth, 0) && fa4_fast_in_table(depth)) {
            visit(Fa4FastEntry{out, partial, depth, load_bytes});
          }
        }
      }
    }
  }
}

constexpr std::size_t count() {
  std::size_t n = 0;
  for_each_entry([&n](const Fa4Entry&) { ++n; });
  return n;
}
constexpr std::size_t count_fast() {
  std::size_t n = 0;
  for_each_fast_entry([&n](const Fa4FastEntry&) { ++n; });
  return n;
}

}  // namespace fa4_list

inline constexpr auto kFa4Entries = [] {
  std::array<Fa4Entry, fa4_list::count()> entries{};
  std::size_t n = 0;
  fa4_list::for_each_entry([&](const Fa4Entry& entry) { entries[n++] = entry; });
  return entries;
}();

inline constexpr auto kFa4FastEntries = [] {
  std::array<Fa4FastEntry, fa4_list::count_fast()> entries{};
  std::size_t n = 0;
  fa4_list::for_each_fast_entry([&](const Fa4FastEntry& entry) { entries[n++] = entry; });
  return entries;
}();

struct Fa4FastTable {
  static constexpr const auto& kEntries = kFa4FastEntries;
};

struct Fa4Table {
  static constexpr const auto& kEntries = kFa4Entries;
};

}  // namespace lsecheck::sm100
