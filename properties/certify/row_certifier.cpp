#include "properties/certify/row_certifier.h"

#include <bit>

#include "properties/certify/certify_layout.h"

namespace lsecheck::certify {

void raise(Largest& largest, const Largest& other) {
  const bool earlier = other.row < largest.row || (other.row == largest.row && other.column < largest.column);
  if (other.value > largest.value || (other.value == largest.value && other.value > 0 && earlier)) largest = other;
}

void add_verdict(BatchVerdict& batch, std::uint64_t row, std::span<const std::uint32_t> words) {
  batch.open_elements += words[kOpenElements];
  batch.failing_elements += words[kFailingElements];
  if (words[kOpenElements] + words[kFailingElements] > 0) batch.open_rows.push_back(row);
  for (std::size_t metric = 0; metric < kMetrics; ++metric) {
    const std::size_t at = kLargestUlp + 2 * metric;
    raise(batch.largest[metric], {std::bit_cast<float>(words[at]), row, words[at + 1]});
  }
}

std::vector<CertifiedGrade> read_grades(std::span<const std::uint32_t> words) {
  std::vector<CertifiedGrade> grades;
  for (std::size_t at = 0; at < words.size(); at += kGradeWords) {
    const std::uint32_t flags = words[at + kGradeFlags];
    CertifiedGrade& grade = grades.emplace_back();
    if ((flags & kGradeDecided) == 0) continue;
    grade = {true,
             (flags & kGradeBelow) != 0,
             std::bit_cast<float>(words[at + kGradeUlp]),
             std::bit_cast<float>(words[at + kGradeScaledUlp]),
             std::bit_cast<float>(words[at + kGradeBoundUse]),
             words[at + kGradeSteps],
             flags & 0xffffU};
  }
  return grades;
}

}  // namespace lsecheck::certify
