#pragma once

#include <array>
#include <cstdint>

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011): a counter-based generator. Everything drawn here comes from
// integers and single correctly rounded operations, so every machine draws the same bits.
namespace lsecheck {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

PhiloxCounter philox4x32_10(const PhiloxCounter& counter, const PhiloxKey& key);

// One independent stream per (seed, purpose, index): key = seed, counter = (block, purpose, index). A stream holds 2^34
// 32-bit words. Every draw below consumes a number of words that does not depend on the words, so a draw's position in
// its stream is known from the code alone.
class PhiloxStream {
 public:
  PhiloxStream(std::uint64_t seed, std::uint32_t purpose, std::uint64_t index);

  std::uint32_t next_u32();  // 1 word
  std::uint64_t next_u64();  // 2 words

  // Uniform in [0, n), n >= 1 (0 for n == 0): floor(u * n / 2^64) of a 64-bit word u, 2 words. No rejection: each
  // value's probability is within 2^-64 of 1/n.
  std::uint64_t below(std::uint64_t n);
  // Uniform in [low, high], both included; low <= high, fewer than 2^64 values. 2 words.
  std::int64_t between(std::int64_t low, std::int64_t high);
  // True with probability numerator / denominator. 2 words.
  bool chance(std::uint64_t numerator, std::uint64_t denominator) { return below(denominator) < numerator; }

  // Multiple of 2^-24 in [0, 1), exact. 1 word.
  float uniform();
  // low + (high - low) * uniform(), one fma after the rounded difference. 1 word.
  float uniform_between(float low, float high);

  // Approximately standard normal, 4 words: the sum of eight 16-bit uniform integers, centred (exact, below 2^20),
  // times 1/sqrt(variance) in one rounded multiplication. Mean 0 and variance 1 to f32 accuracy, excess kurtosis -0.15,
  // abs(value) < 4.9.
  float normal();

 private:
  PhiloxKey key_;
  PhiloxCounter counter_;
  PhiloxCounter block_{};
  unsigned used_ = 4;  // words of block_ handed out
};

}  // namespace lsecheck
