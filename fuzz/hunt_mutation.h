#pragma once

#include <cstdint>

#include "fuzz/hunt_target.h"
#include "properties/philox.h"

// Small changes to bit patterns, for the population search. Every result keeps to the target's regime and values.
namespace lsecheck {

// A value beside the given one: bits flipped or drawn again, a few representable values, a binade, the sign. The same
// value where that would leave the range of a hunt.
std::uint32_t mutated_value(DType type, std::uint32_t bits, PhiloxStream& random);

// One change to the row's exponents or masses; whole partitions, with their values, may trade places.
void mutate_weights(const CaseSpec& spec, HuntRow& row, PhiloxStream& random);

// Takes partitions (exponent, mass and values) of another row, each with probability 1/2.
void cross_rows(const CaseSpec& spec, HuntRow& row, const HuntRow& other, PhiloxStream& random);

// Puts structured columns among the drawn ones, three in four: a weight alone; one large term first, on which every
// later term is rounded at full size; terms of one sign.
void plant_columns(const CaseSpec& spec, HuntRow& row, PhiloxStream& random);
constexpr bool is_large_first_column(std::size_t d) {
  return d % 4 == 2;
}

// Column d with one large term first; the later terms are small after their weights, as far as values may be large.
void plant_large_first(const CaseSpec& spec, HuntRow& row, std::size_t d, PhiloxStream& random);

// Partitions in descending order of exponent: early large sums meet the most roundings.
void sort_by_exponent(const CaseSpec& spec, HuntRow& row);

}  // namespace lsecheck
