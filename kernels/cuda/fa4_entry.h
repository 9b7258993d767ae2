#pragma once

#include <array>
#include <cstddef>

#include "kernels/sm100/fa4_instantiation_table.h"
#include "reference/float_format.h"

// The instantiation table as one flat list, so that it can be dealt out to any number of source files.
namespace lsecheck::sm100 {

struct Fa4Entry {
  DType out = DType::bf16;
  DType partial = DType::bf16;
  int ov_depth = 0;
  int p_static = 0;

  bool operator==(const Fa4Entry&) const = default;
};

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

}  // namespace lsecheck::sm100
