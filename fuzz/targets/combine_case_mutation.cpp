#include "fuzz/targets/combine_case_mutation.h"

#include <array>
#include <cstring>

#include "fuzz/combine_case_input.h"
#include "properties/philox.h"

namespace lsecheck::fuzz {
namespace {

constexpr std::uint32_t kPurpose = 0x6d757461;

constexpr std::array<std::uint32_t, 16> kSpecialWords{
    0x00000000,              // +0
    0x80000000,              // -0
    0x3f800000,              // 1
    0xbf800000,              // -1
    0x7f800000,              // +inf
    0xff800000,              // -inf: an empty partition
    0x7fc00000,              // NaN
    0x00000001,              // the smallest subnormal
    0x007fffff,              // the largest
    0x00800000,              // 2^-126
    0x7f7fffff,              // the largest finite number
    0xff7fffff, 0x4b800000,  // 2^24
    0xc2fc0000,              // -126
    0xc61c4000,              // -1e4
    0xf1800000               // -2^100
};

// Changes the float's fields, not its bytes.
std::uint32_t edited_word(std::uint32_t word, PhiloxStream& random) {
  switch (random.below(6)) {
    case 0:
      return word ^ 0x80000000U;  // the sign
    case 1:
      return word ^ (1U << random.below(23));  // one mantissa bit
    case 2:
      return word + 0x00800000U * static_cast<std::uint32_t>(random.between(-3, 3));  // some binades
    case 3:
      return word + static_cast<std::uint32_t>(random.between(-4, 4));  // some representable values
    case 4:
      return kSpecialWords[random.below(kSpecialWords.size())];
    default:
      return (word & 0xff800000U) | (random.next_u32() & 0x007fffffU);  // another mantissa
  }
}

// The same for the two 16-bit halves, of which the values of 16-bit types are the lower: bf16's and f16's exponents
// stand at other bits, so the edits are of the half's bits and steps.
std::uint32_t edited_half(std::uint32_t word, PhiloxStream& random) {
  const std::uint32_t half = word & 0xffffU;
  switch (random.below(4)) {
    case 0:
      return (word & 0xffff0000U) | (half ^ (1U << random.below(16)));
    case 1:
      return (word & 0xffff0000U) | ((half + static_cast<std::uint32_t>(random.between(-2, 2))) & 0xffffU);
    case 2:
      return (word & 0xffff0000U) | (kSpecialWords[random.below(kSpecialWords.size())] >> 16);
    default:
      return (word & 0xffff0000U) | (random.next_u32() & 0xffffU);
  }
}

class WordBuffer {
 public:
  explicit WordBuffer(std::span<std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint32_t get(std::size_t i) const {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes_.data() + kHeaderBytes + 4 * i, sizeof word);
    return word;
  }
  void set(std::size_t i, std::uint32_t word) { std::memcpy(bytes_.data() + kHeaderBytes + 4 * i, &word, sizeof word); }
  void swap(std::size_t i, std::size_t j) {
    const std::uint32_t word = get(i);
    set(i, get(j));
    set(j, word);
  }

 private:
  std::span<std::uint8_t> bytes_;
};

void swap_pairs(WordBuffer& words, const InputLayout& layout, std::size_t a, std::size_t b) {
  words.swap(layout.first_exponent() + a, layout.first_exponent() + b);
  if (layout.masses) words.swap(layout.first_mass() + a, layout.first_mass() + b);
  for (std::size_t column = 0; column < kColumns; ++column) {
    words.swap(layout.first_value() + kColumns * a + column, layout.first_value() + kColumns * b + column);
  }
}

// A word of the input, its place by kind: exponents decide the most, so they are as likely as all the values.
std::size_t drawn_word(const InputLayout& layout, PhiloxStream& random) {
  if (random.chance(1, 2)) return layout.first_exponent() + random.below(layout.pairs);
  return random.below(layout.words());
}

void edit_words(WordBuffer& words, const InputLayout& layout, PhiloxStream& random) {
  const std::size_t at = drawn_word(layout, random);
  switch (random.below(8)) {
    case 0:
      swap_pairs(words, layout, random.below(layout.pairs), random.below(layout.pairs));
      return;
    case 1:  // the same number in two places of a kind, or almost
      if (at >= layout.first_exponent() && at < layout.first_mass()) {
        const std::size_t other = layout.first_exponent() + random.below(layout.pairs);
        words.set(at, words.get(other) + static_cast<std::uint32_t>(random.between(-1, 1)));
      } else {
        words.set(at, words.get(random.below(layout.words())));
      }
      return;
    default:
      break;
  }
  const bool half = at >= layout.first_value() && random.chance(1, 2);
  words.set(at, half ? edited_half(words.get(at), random) : edited_word(words.get(at), random));
}

}  // namespace

std::size_t mutate_combine_case(std::span<std::uint8_t> buffer, std::size_t size, std::uint32_t seed,
                                const BlindMutator& blind) {
  PhiloxStream random(seed, kPurpose, size);
  if (random.chance(1, 8)) return blind(buffer, size);
  if (buffer.size() < kHeaderBytes) return blind(buffer, size);
  if (size < kHeaderBytes) {
    std::memset(buffer.data() + size, 0, kHeaderBytes - size);
    size = kHeaderBytes;
  }
  if (random.chance(1, 8)) buffer[random.below(kHeaderBytes)] = static_cast<std::uint8_t>(random.next_u32());
  const auto layout = combine_case_layout(buffer.first(size));
  if (!layout) return size;
  const std::size_t whole = kHeaderBytes + 4 * layout->words();
  if (whole > buffer.size()) return blind(buffer, size);
  if (size < whole) std::memset(buffer.data() + size, 0, whole - size);
  WordBuffer words(buffer.first(whole));
  for (std::uint64_t edit = 1 + random.below(3); edit > 0; --edit) edit_words(words, *layout, random);
  return whole;
}

}  // namespace lsecheck::fuzz
