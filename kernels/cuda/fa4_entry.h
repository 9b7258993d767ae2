#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "kernels/sm100/fa4_instantiation_table.h"
#include "reference/float_format.h"

// The instantiation table of fa4_splitk_combine as one flat list (compiled_kernels.h).
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

constexpr std::size_t count() {
  std::size_t n = 0;
  for_each_entry([&n](const Fa4Entry&) { ++n; });
  return n;
}

}  // namespace fa4_list

inline constexpr auto kFa4Entries = [] {
  std::array<Fa4Entry, fa4_list::count()> entries{};
  std::size_t n = 0;
  fa4_list::for_each_entry([&](const Fa4Entry& entry) { entries[n++] = entry; });
  return entries;
}();

struct Fa4Table {
  static constexpr const auto& kEntries = kFa4Entries;
};

}  // namespace lsecheck::sm100
