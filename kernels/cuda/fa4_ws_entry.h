#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "kernels/sm100/fa4_ws_instantiation_table.h"
#include "reference/float_format.h"

// The instantiation table of the in-CTA combine levels as one flat list (compiled_kernels.h).
namespace lsecheck::sm100 {

struct Fa4WsEntry {
  Fa4WsLevel level = Fa4WsLevel::intracta;
  DType out = DType::f32;
  int ov_depth = 0;
  int m_pack = 0;
  int num_partitions = 0;

  bool operator==(const Fa4WsEntry&) const = default;
};

// The name of its function in fa4_ws_kernels.cuh: "fa4_ws_intracta_kernel<Fa4WsTile<4, 128>, bf16>".
inline std::string template_id(const Fa4WsEntry& entry) {
  const std::string tile = "Fa4WsTile<" + std::to_string(entry.m_pack) + ", " + std::to_string(entry.ov_depth) + ">";
  const std::string arguments = "<" + tile + ", " + std::string(name_of(entry.out));
  switch (entry.level) {
    case Fa4WsLevel::intracta:
      return "fa4_ws_intracta_kernel" + arguments + ">";
    case Fa4WsLevel::level1:
      return "fa4_ws_level1_kernel<" + tile + ">";
    case Fa4WsLevel::level2:
      return "fa4_ws_level2_kernel" + arguments + (entry.num_partitions == 1 ? ", true>" : ", false>");
    case Fa4WsLevel::two_level:
      break;
  }
  return "fa4_ws_two_level_kernel" + arguments + ">";
}

namespace fa4_ws_list {

inline constexpr std::array<DType, 3> kTypes{DType::bf16, DType::f16, DType::f32};
inline constexpr std::array<Fa4WsLevel, 4> kLevels{Fa4WsLevel::intracta, Fa4WsLevel::level1, Fa4WsLevel::level2,
                                                   Fa4WsLevel::two_level};

// visit(entry) for every entry of the table.
template <class Visit>
constexpr void for_each_entry(Visit visit) {
  for (const Fa4WsLevel level : kLevels) {
    for (const DType out : kTypes) {
      for (const int depth : kFa4WsDepths) {
        for (const int m_pack : kFa4WsMPacks) {
          for (const int partitions : kFa4WsPartitions) {
            if (fa4_ws_in_table(level, out, depth, m_pack, partitions)) {
              visit(Fa4WsEntry{level, out, depth, m_pack, partitions});
            }
          }
        }
      }
    }
  }
}

constexpr std::size_t count() {
  std::size_t n = 0;
  for_each_entry([&n](const Fa4WsEntry&) { ++n; });
  return n;
}

}  // namespace fa4_ws_list

inline constexpr auto kFa4WsEntries = [] {
  std::array<Fa4WsEntry, fa4_ws_list::count()> entries{};
  std::size_t n = 0;
  fa4_ws_list::for_each_entry([&](const Fa4WsEntry& entry) { entries[n++] = entry; });
  return entries;
}();

struct Fa4WsTable {
  static constexpr const auto& kEntries = kFa4WsEntries;
};

}  // namespace lsecheck::sm100
