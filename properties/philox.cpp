#include "properties/philox.h"

#include <cmath>

namespace lsecheck {
namespace {

constexpr std::uint32_t low_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x & 0xffffffffu);
}
constexpr std::uint32_t high_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x >> 32);
}

// Var of a uniform integer on [0, 2^16) is (2^32 - 1)/12; the centred, doubled sum of eight has variance
// 4 * 8 * (2^32 - 1)/12, whose root is 107019.8398...; the constant is its reciprocal, rounded to f32.
constexpr float kNormalScale = 0x1.3988e2p-17F;

}  // namespace

PhiloxCounter philox4x32_10(const PhiloxCounter& counter, const PhiloxKey& key) {
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

PhiloxStream::PhiloxStream(std::uint64_t seed, std::uint32_t purpose, std::uint64_t index)
    : key_{low_word(seed), high_word(seed)}, counter_{0, purpose, low_word(index), high_word(index)} {}

std::uint32_t PhiloxStream::next_u32() {
  if (used_ == block_.size()) {
    block_ = philox4x32_10(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t PhiloxStream::next_u64() {
  const std::uint64_t low = next_u32();
  return low | static_cast<std::uint64_t>(next_u32()) << 32;
}

std::uint64_t PhiloxStream::below(std::uint64_t n) {
  // High 64 bits of the 128-bit product, from 32-bit halves: no term overflows.
  const std::uint64_t u = next_u64();
  const std::uint64_t u0 = low_word(u), u1 = high_word(u), n0 = low_word(n), n1 = high_word(n);
  const std::uint64_t middle = u1 * n0 + high_word(u0 * n0);
  const std::uint64_t carry = u0 * n1 + low_word(middle);
  return u1 * n1 + high_word(middle) + high_word(carry);
}

std::int64_t PhiloxStream::between(std::int64_t low, std::int64_t high) {
  const std::uint64_t count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + below(count));
}

float PhiloxStream::uniform() {
  return static_cast<float>(next_u32() >> 8) * 0x1p-24F;
}

float PhiloxStream::uniform_between(float low, float high) {
  return std::fma(high - low, uniform(), low);
}

float PhiloxStream::normal() {
  std::int32_t sum = 0;
  for (int word = 0; word < 4; ++word) {
    const std::uint32_t bits = next_u32();
    sum += static_cast<std::int32_t>(bits >> 16) + static_cast<std::int32_t>(bits & 0xffffu);
  }
  const std::int32_t centred = 2 * sum - 8 * 0xffff;
  return static_cast<float>(centred) * kNormalScale;
}

}  // namespace lsecheck
