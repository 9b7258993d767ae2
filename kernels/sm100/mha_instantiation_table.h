#pragma once

#include <array>

#include "reference/float_format.h"

// The one list of mha_splitk_reduce instantiations: every depth here with every pair of types and both exponentials.
// 96 leaves lanes without elements, 256 in f32 takes two accesses a lane.
namespace lsecheck::sm100 {

inline constexpr std::array<int, 5> kMhaDepths{32, 64, 96, 128, 256};

// Partials are stored in the output type, or in f32.
constexpr bool mha_in_table(DType out, DType partial) {
  return partial == out || partial == DType::f32;
}

}  // namespace lsecheck::sm100
