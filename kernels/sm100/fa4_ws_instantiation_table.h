#pragma once

#include <array>
#include <cstdint>

#include "reference/float_format.h"

// The one list of instantiations of the in-CTA combine, read by the host build and by nvcc alike.
namespace lsecheck::sm100 {

enum class Fa4WsLevel : std::uint8_t { intracta, level1, level2, two_level };

inline constexpr std::array<int, 2> kFa4WsMPacks{4, 2};  // production's first: it has every depth
inline constexpr std::array<int, 4> kFa4WsDepths{64, 128, 256, 512};
inline constexpr std::array<int, 4> kFa4WsPartitions{1, 2, 4, 8};

// What is compiled: depths 64 and 128 with 4 and 2 partitions to a warpgroup, depths 256 and 512, whose accumulator the
// partitions share and which reach level 2 alone, with 4. Level 1 returns f32; everything else is stored in any type.
constexpr bool fa4_ws_in_table(Fa4WsLevel level, DType out, int ov_depth, int m_pack, int num_partitions) {
  if (ov_depth > 128 && (level != Fa4WsLevel::level2 || m_pack != 4)) return false;
  switch (level) {
    case Fa4WsLevel::intracta:
      return num_partitions == m_pack;
    case Fa4WsLevel::level1:
      return num_partitions == m_pack && out == DType::f32;
    case Fa4WsLevel::level2:
      return num_partitions <= 2;
    case Fa4WsLevel::two_level:
      break;
  }
  return num_partitions == 2 * m_pack;
}

}  // namespace lsecheck::sm100
