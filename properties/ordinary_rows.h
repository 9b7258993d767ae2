#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "properties/draw_purpose.h"
#include "properties/philox.h"
#include "reference/device_callable.h"

// LSEs of regime narrow and values of regime normal. The regimes draw them one after the other; here each also stands
// as a function of its place, so that the threads of a GPU draw the same bits.
namespace lsecheck {

// What the LSEs of a narrow row have in common.
struct NarrowRow {
  float base;
  float half_width;
};
LSECHECK_ANYWHERE NarrowRow narrow_row(std::uint32_t first_word, std::uint32_t second_word) {
  return {uniform_between_from(first_word, -8, 8), uniform_between_from(second_word, 0.125F, 2)};
}
LSECHECK_ANYWHERE float narrow_lse(const NarrowRow& row, std::uint32_t word) {
  return row.base + uniform_between_from(word, -row.half_width, row.half_width);
}

// 2^-4 .. 2^4: what a row's normal values are multiplied by.
LSECHECK_ANYWHERE float normal_row_scale(std::uint64_t draw) {
  const std::int64_t exponent = between_from(draw, -4, 4);
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

// By their places in the streams of row-head rh of a case with that seed.

LSECHECK_ANYWHERE float narrow_lse_at(std::uint64_t seed, std::uint64_t rh, unsigned p) {
  constexpr auto kPurpose = static_cast<std::uint32_t>(DrawPurpose::lse);
  const PhiloxCounter first = philox_block(seed, kPurpose, rh, 0);
  const unsigned word = 2 + p;
  const PhiloxCounter words = philox_block(seed, kPurpose, rh, word / 4);
  const std::uint32_t pair[2] = {word % 4 < 2 ? words[0] : words[2], word % 4 < 2 ? words[1] : words[3]};
  return narrow_lse(narrow_row(first[0], first[1]), word % 2 == 0 ? pair[0] : pair[1]);
}

LSECHECK_ANYWHERE float normal_row_scale_at(std::uint64_t seed, std::uint64_t rh) {
  const PhiloxCounter words = philox_block(seed, static_cast<std::uint32_t>(DrawPurpose::value_row), rh, 0);
  return normal_row_scale(words[0] | static_cast<std::uint64_t>(words[1]) << 32);
}

// scale: normal_row_scale_at().
LSECHECK_ANYWHERE float normal_value_at(float scale, std::uint64_t seed, std::uint64_t rh, unsigned p, unsigned d) {
  constexpr auto kPurpose = static_cast<std::uint32_t>(DrawPurpose::value);
  return scale * normal_from(philox_block(seed, kPurpose, partition_index(rh, p), d));
}

}  // namespace lsecheck
