#include "reference/row_certificate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "reference/certified_reference.h"
#include "reference/test_row.h"

namespace lsecheck {
namespace {

// spread: some weights are far below the others, so that x may lie beside a value.
Row drawn_row(std::size_t partitions, std::size_t depth, bool spread, std::mt19937_64& random) {
  const auto single = [&](double half_width) {
    return static_cast<double>(static_cast<float>((static_cast<double>(random() >> 11) * 0x1p-52 - 1) * half_width));
  };
  Row row;
  for (std::size_t p = 0; p < partitions; ++p) {
    row.x.push_back(p > 0 && random() % 8 == 0 ? -kInf : single(spread && random() % 4 == 0 ? 150 : 3));
  }
  for (std::size_t i = 0; i < partitions * depth; ++i) row.a.push_back(random() % 8 == 0 ? 0 : single(4));
  return row;
}

struct Counted {
  std::uint64_t elements = 0;
  std::uint64_t decided = 0;
};

template <DType type>
void expect_certified_grades(const Row& row, std::mt19937_64& random, Counted& counted) {
  const std::size_t depth = row.problem().depth;
  const double m = *std::max_element(row.x.begin(), row.x.end());
  std::vector<CertificateSums> sums(depth);
  double total = 0;
  int count = 0;
  for (std::size_t p = 0; p < row.x.size(); ++p) {
    if (row.x[p] == -kInf) continue;
    ++count;
    const double weight = certificate_weight(row.x[p], m);
    ASSERT_GT(weight, 0);
    total += weight;
    for (std::size_t d = 0; d < depth; ++d) sums[d].add(weight, row.a[p * depth + d]);
  }
  std::vector<std::uint32_t> bits;
  std::vector<double> bounds;
  for (const CertificateSums& sum : sums) {
    const double x = sum.sum / total;
    const std::uint32_t rounded = round_to_nearest_even(type, x);
    bits.push_back(rounded + static_cast<std::uint32_t>(random() % 2));
    bounds.push_back(ulp_at(type, x) * 0.75);
  }
  std::vector<ElementGrade> due(depth);
  make_certified_reference()->grade_row(row.problem(), {type, bits, bounds, {}}, due);
  for (std::size_t d = 0; d < depth; ++d) {
    ElementGrade grade;
    const double radius = certificate_radius(count);
    ++counted.elements;
    if (!certify_element<type>(enclosure_of_mean(sums[d], total, radius), enclosure_of_scale(sums[d], total, radius),
                               bits[d], bounds[d], grade)) {
      continue;
    }
    ++counted.decided;
    EXPECT_EQ(grade, due[d]) << "column " << d << ": ulp " << grade.ulp << " " << due[d].ulp << ", use "
                             << grade.bound_use << " " << due[d].bound_use;
  }
}

TEST(RowCertificate, DecidesAsTheCertifiedReference) {
  std::mt19937_64 random(3);
  Counted spread_apart, wide, narrow;
  for (int i = 0; i < 300; ++i) {
    const std::size_t partitions = 1 + random() % 40;
    const Row row = drawn_row(partitions, 24, false, random);
    expect_certified_grades<DType::bf16>(row, random, narrow);
    expect_certified_grades<DType::f32>(row, random, wide);
    const Row spread = drawn_row(partitions, 24, true, random);
    expect_certified_grades<DType::bf16>(spread, random, spread_apart);
    expect_certified_grades<DType::f32>(spread, random, spread_apart);
  }
  EXPECT_GT(narrow.decided * 1000, narrow.elements * 999) << narrow.decided << " of " << narrow.elements;
  // A radius of some 80 * 2^-53 C against cells of 2^-10 ulps of f32: some thousandths of the questions straddle one.
  EXPECT_GT(wide.decided * 100, wide.elements * 99) << wide.decided << " of " << wide.elements;
  EXPECT_GT(spread_apart.decided * 2, spread_apart.elements);
}

TEST(RowCertificate, LeavesWeightsThatItCannotFormToOthers) {
  EXPECT_EQ(certificate_weight(-701, 0), 0);
  EXPECT_EQ(certificate_weight(0.5, 0.5), 1);
}

}  // namespace
}  // namespace lsecheck
