#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "reference/device_callable.h"

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011): a counter-based generator. Everything drawn here comes from
// integers and single correctly rounded operations, so every machine draws the same bits, a GPU included.
namespace lsecheck {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

namespace philox_parts {

constexpr std::uint32_t low_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x & 0xffffffffu);
}
constexpr std::uint32_t high_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x >> 32);
}

}  // namespace philox_parts

LSECHECK_ANYWHERE PhiloxCounter philox4x32_10(const PhiloxCounter& counter, const PhiloxKey& key) {
  using philox_parts::high_word;
  using philox_parts::low_word;
  PhiloxCounter c = counter;
  PhiloxKey k = key;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * c[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * c[2];
    c = {high_word(product1) ^ c[1] ^ k[0], low_word(product1), high_word(product0) ^ c[3] ^ k[1], low_word(product0)};
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return c;
}

// Words 4 block .. 4 block + 3 of the stream (seed, purpose, index).
LSECHECK_ANYWHERE PhiloxCounter philox_block(std::uint64_t seed, std::uint32_t purpose, std::uint64_t index,
                                             std::uint32_t block) {
  using philox_parts::high_word;
  using philox_parts::low_word;
  return philox4x32_10({block, purpose, low_word(index), high_word(index)}, {low_word(seed), high_word(seed)});
}

// The draws as functions of the words that they take.

// Uniform in [0, n), n >= 1 (0 for n == 0): floor(u * n / 2^64). No rejection: each value's probability is within 2^-64
// of 1/n.
LSECHECK_ANYWHERE std::uint64_t below_from(std::uint64_t u, std::uint64_t n) {
  using philox_parts::high_word;
  using philox_parts::low_word;
  // High 64 bits of the 128-bit product, from 32-bit halves: no term overflows.
  const std::uint64_t u0 = low_word(u), u1 = high_word(u), n0 = low_word(n), n1 = high_word(n);
  const std::uint64_t middle = u1 * n0 + high_word(u0 * n0);
  const std::uint64_t carry = u0 * n1 + low_word(middle);
  return u1 * n1 + high_word(middle) + high_word(carry);
}

// Uniform in [low, high], both included; low <= high, fewer than 2^64 values.
LSECHECK_ANYWHERE std::int64_t between_from(std::uint64_t u, std::int64_t low, std::int64_t high) {
  const std::uint64_t count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + below_from(u, count));
}

// Multiple of 2^-24 in [0, 1), exact.
LSECHECK_ANYWHERE float uniform_from(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24F;
}

// low + (high - low) * uniform, one fma after the rounded difference.
LSECHECK_ANYWHERE float uniform_between_from(std::uint32_t word, float low, float high) {
  return std::fma(high - low, uniform_from(word), low);
}

// Approximately standard normal: the sum of eight 16-bit uniform integers, centred (exact, below 2^20), times
// 1/sqrt(variance) in one rounded multiplication. Mean 0 and variance 1 to f32 accuracy, excess kurtosis -0.15,
// abs(value) < 4.9.
LSECHECK_ANYWHERE float normal_from(const PhiloxCounter& words) {
  // Var of a uniform integer on [0, 2^16) is (2^32 - 1)/12; the centred, doubled sum of eight has variance
  // 4 * 8 * (2^32 - 1)/12, whose root is 107019.8398...; the constant is its reciprocal, rounded to f32.
  constexpr float kNormalScale = 0x1.3988e2p-17F;
  std::int32_t sum = 0;
  for (unsigned word = 0; word < 4; ++word) {
    const std::uint32_t bits = words[word];
    sum += static_cast<std::int32_t>(bits >> 16) + static_cast<std::int32_t>(bits & 0xffffu);
  }
  const std::int32_t centred = 2 * sum - 8 * 0xffff;
  return static_cast<float>(centred) * kNormalScale;
}

// One independent stream per (seed, purpose, index): key = seed, counter = (block, purpose, index). A stream holds 2^34
// 32-bit words. Every draw below consumes a number of words that does not depend on the words, so a draw's position in
// its stream is known from the code alone.
class PhiloxStream {
 public:
  PhiloxStream(std::uint64_t seed, std::uint32_t purpose, std::uint64_t index)
      : seed_(seed), purpose_(purpose), index_(index) {}

  std::uint32_t next_u32() {  // 1 word
    if (used_ == words_.size()) {
      words_ = philox_block(seed_, purpose_, index_, block_++);
      used_ = 0;
    }
    return words_[used_++];
  }
  std::uint64_t next_u64() {  // 2 words, the low one first
    const std::uint64_t low = next_u32();
    return low | static_cast<std::uint64_t>(next_u32()) << 32;
  }

  std::uint64_t below(std::uint64_t n) { return below_from(next_u64(), n); }                                 // 2 words
  std::int64_t between(std::int64_t low, std::int64_t high) { return between_from(next_u64(), low, high); }  // 2 words
  // True with probability numerator / denominator. 2 words.
  bool chance(std::uint64_t numerator, std::uint64_t denominator) { return below(denominator) < numerator; }

  float uniform() { return uniform_from(next_u32()); }                                                  // 1 word
  float uniform_between(float low, float high) { return uniform_between_from(next_u32(), low, high); }  // 1 word
  float normal() {                                                                                      // 4 words
    PhiloxCounter words;
    for (std::uint32_t& word : words) word = next_u32();
    return normal_from(words);
  }

 private:
  std::uint64_t seed_;
  std::uint32_t purpose_;
  std::uint64_t index_;
  std::uint32_t block_ = 0;
  PhiloxCounter words_{};
  unsigned used_ = 4;  // words of words_ handed out
};

}  // namespace lsecheck
