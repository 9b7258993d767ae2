#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "properties/certify/row_certifier.h"

// Certifies rows 0 .. rows - 1 of a sequence in two tiers: what a RowCertifier leaves open or finds failing is graded
// by the certified reference. Some rows are graded by both, and compared.
namespace lsecheck::certify {

struct Plan {
  Sequence sequence;
  std::uint64_t rows = 0;
  std::uint64_t verify = 0;  // rows, spread evenly, that are compared; every row with an open element is, too
};

struct Findings {
  std::uint64_t count = 0;
  std::vector<std::string> first;  // at most kListed of them, by row
  static constexpr std::size_t kListed = 10;
  void add(std::string line);
};

struct Result {
  std::uint64_t elements = 0;
  std::uint64_t certified = 0;    // within the sharper bound
  std::uint64_t second_tier = 0;  // of those, by the reference
  std::uint64_t failing = 0;
  std::uint64_t undecided() const { return elements - certified - failing; }
  std::uint64_t unlisted_rows = 0;  // with undecided elements that were too many to bring back
  std::array<Largest, kMetrics> largest;
  Findings failures;  // by row
  std::uint64_t compared_rows = 0;
  std::uint64_t compared_elements = 0;  // that the first tier had decided
  Findings disagreements;
  double seconds = 0;  // of the first tier

  bool is_clean() const { return certified == elements && disagreements.count == 0; }
};

// progress: told how many rows are done.
Result certify_rows_of(const Plan& plan, RowCertifier& certifier, const std::function<void(std::uint64_t)>& progress);

}  // namespace lsecheck::certify
