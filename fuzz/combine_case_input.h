#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "properties/case_tensors.h"

// A combine case as the fuzzer's bytes, structure first: a header of small choices that are always valid, then the raw
// bit patterns of every exponent, mass and value, 4 bytes each, little-endian.
//
//   kHeaderBytes  kernel, arch, types, depth, selection, partition count, rows, heads, sink, exponent form, unit,
//                 schedule (1 byte each, modulo the number of choices), seed (4), exponent scale (4, an f32)
//   sinks         [heads]                     where the kernel takes them and the header asks for a finite one
//   exponents     [P, rows_heads]
//   masses        [P, rows_heads]             where the kernel takes them
//   values        [P, rows_heads, kColumns]   column d of the case is column d % kColumns
//
// Words that the input is too short for are 0, masses 1. Bytes behind the last word are not read.
namespace lsecheck::fuzz {

using FuzzInput = std::span<const std::uint8_t>;

inline constexpr std::size_t kHeaderBytes = 20;
inline constexpr std::size_t kColumns = 4;

// Words of each kind behind the header.
struct InputLayout {
  std::size_t sinks = 0;
  std::size_t pairs = 0;  // P * rows_heads
  bool masses = false;

  std::size_t mass_words() const { return masses ? pairs : 0; }
  std::size_t words() const { return sinks + pairs + mass_words() + pairs * kColumns; }
  std::size_t first_exponent() const { return sinks; }
  std::size_t first_mass() const { return sinks + pairs; }
  std::size_t first_value() const { return sinks + pairs + mass_words(); }
};

struct DecodedCase {
  CaseTensors tensors;
  InputLayout layout;
};

// nullopt: shorter than the header, or choices that no kernel goes with.
std::optional<DecodedCase> decode_combine_case(FuzzInput input);

// What the header alone says.
std::optional<InputLayout> combine_case_layout(FuzzInput input);

// One a kernel and type pair, of two partitions.
std::vector<std::vector<std::uint8_t>> combine_case_seeds();

}  // namespace lsecheck::fuzz
