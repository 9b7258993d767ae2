#include "reference/certified_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/test_row.h"

// The certified reference against the exact one: every grade, byte for byte, on rows that are drawn to be hard.
namespace lsecheck {
namespace {

constexpr const char* kExponentRegimes[] = {"narrow",   "dominant", "spread", "large", "huge",
                                            "sentinel", "ties",     "flush",  "vanish"};
constexpr const char* kValueRegimes[] = {"normal",     "cancelling", "near zero",    "constant", "midpoint",
                                         "one hot",    "huge",       "subnormal",    "dyadic",   "zeros",
                                         "wide range", "doubles",    "power of two", "balanced"};

class HardRow {
 public:
  explicit HardRow(std::uint64_t seed) : bits_(seed) {}

  struct Drawn {
    Row row;
    DType type = DType::f32;
    std::vector<std::uint32_t> out;
    std::vector<double> bound;
    std::vector<std::uint8_t> inf_allowed;
    std::string regime;
  };

  Drawn draw() {
    Drawn drawn;
    drawn.type = DType{static_cast<std::uint8_t>(below(3))};
    type_ = drawn.type;
    partitions_ = chance(1, 8) ? 1 + below(40) : 1 + below(9);
    depth_ = chance(1, 16) ? 1 + below(40) : 1 + below(5);
    const std::size_t exponents = below(std::size(kExponentRegimes));
    const std::size_t values = below(std::size(kValueRegimes));
    drawn.regime = std::string(kExponentRegimes[exponents]) + ", " + kValueRegimes[values];
    Row& row = drawn.row;
    if (chance(1, 4)) row.base = ExponentBase::natural;
    draw_exponents(row, exponents);
    draw_values(row, values);
    if (chance(1, 5)) draw_masses(row);
    if (chance(1, 5))
      row.sink = chance(1, 8) ? uniform(-1, 1) * std::ldexp(1.0, static_cast<int>(below(60)))
                              : static_cast<float>(uniform(-4, 12));
    for (double& x : row.x) {
      if (row.x.size() > 1 && &x != row.x.data() && chance(1, 12)) x = -kInf;
    }
    for (std::size_t d = 0; d < depth_; ++d) draw_output(drawn, d);
    return drawn;
  }

 private:
  std::size_t below(std::size_t n) { return bits_() % n; }
  bool chance(std::size_t k, std::size_t n) { return below(n) < k; }
  double unit() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * unit(); }
  float single(double low, double high) { return static_cast<float>(uniform(low, high)); }

  void draw_exponents(Row& row, std::size_t regime) {
    for (std::size_t p = 0; p < partitions_; ++p) {
      switch (regime) {
        case 0:
          row.x.push_back(single(-4, 4));
          break;
        case 1:
          row.x.push_back(p == 0 ? 200 : single(-30, 30));
          break;
        case 2:
          row.x.push_back(single(-300, 300));
          break;
        case 3:
          row.x.push_back(static_cast<float>(std::ldexp(1.0, static_cast<int>(10 + below(17))) + uniform(-3, 3)));
          break;
        case 4:
          row.x.push_back(std::ldexp(uniform(-1, 1), static_cast<int>(below(130))));
          break;
        case 5:
          row.x.push_back(chance(1, 3) ? -0x1p100 : chance(1, 2) ? -1e4 : single(-5, 5));
          break;
        case 6:
          row.x.push_back(static_cast<double>(below(4)) + (chance(1, 3) ? 0.5 : 0.0));
          break;
        case 7:
          row.x.push_back(p == 0 ? single(-1, 1) : single(-152, -120));
          break;
        default:
          row.x.push_back(p == 0 ? 0.5 : single(-720, -680));
      }
    }
  }

  double draw_value(std::size_t regime, std::size_t p, std::size_t d, double common) {
    switch (regime) {
      case 3:
      case 4:
      case 12:
      case 13:
        return common;
      case 5:
        return p == d % partitions_ ? std::ldexp(1.0, static_cast<int>(below(5)) - 2) : chance(1, 2) ? 0.0 : -0.0;
      case 6:
        return (chance(1, 2) ? 1 : -1) *
               static_cast<double>(std::min(
                   static_cast<float>(uniform(0.5, 1.25)) * static_cast<float>(max_finite(type_)), 0x1.fffffep127f));
      case 7:
        return (chance(1, 2) ? 1 : -1) * smallest_subnormal(type_) * static_cast<double>(below(40)) / 4;
      case 8:
        return static_cast<double>(below(33)) / 8 - 2;
      case 9:
        return chance(7, 8) ? 0.0 : 1.0;
      case 10:
        return static_cast<float>(std::ldexp(uniform(-1, 1), static_cast<int>(below(120)) - 80));
      case 11:
        return std::ldexp(uniform(-1, 1), static_cast<int>(below(600)) - 500);
      default:
        return single(-4, 4);
    }
  }

  // What all partitions of a column hold in the regimes that ask for it.
  double draw_common(std::size_t regime) {
    const double sign = chance(1, 2) ? 1 : -1;
    const double odd = 2 * static_cast<double>(below(64)) + 129;
    const int exponent = static_cast<int>(below(20)) - 12;
    switch (regime) {
      case 4:
      case 13:
        return sign * std::ldexp(odd, exponent - format_of(type_).precision);
      case 12:
        return sign * std::ldexp(1.0, exponent);
      default:
        return single(-2, 2);
    }
  }

  // Moves the values of partitions with one common exponent apart so that they still balance exactly: x stays a
  // midpoint, although no weight but the largest is a number that double-double holds.
  void balance(Row& row) {
    for (std::size_t p = 2; p < partitions_; ++p) row.x[p] = row.x[1];
    for (std::size_t d = 0; d < depth_; ++d) {
      double left = 0;
      for (std::size_t p = 1; p < partitions_; ++p) {
        const double step = p + 1 < partitions_ ? static_cast<double>(below(199)) - 99 : -left;
        row.a[p * depth_ + d] += std::ldexp(step, -9);
        left += step;
      }
    }
  }

  void draw_values(Row& row, std::size_t regime) {
    row.a.resize(partitions_ * depth_);
    for (std::size_t d = 0; d < depth_; ++d) {
      const double common = draw_common(regime);
      for (std::size_t p = 0; p < partitions_; ++p) row.a[p * depth_ + d] = draw_value(regime, p, d, common);
    }
    if (regime == 13) balance(row);
    if (regime != 1 && regime != 2) return;
    for (std::size_t p = 1; p < partitions_; p += 2) {
      row.x[p] = chance(1, 6) ? std::nextafter(row.x[p - 1], kInf) : row.x[p - 1] + (chance(1, 6) ? 1 : 0);
      const double part = row.x[p] < row.x[p - 1] + 1 ? -1 : row.base == ExponentBase::log2 ? -0.5 : -0x1.78b5636p-2;
      for (std::size_t d = 0; d < depth_; ++d) {
        row.a[p * depth_ + d] = row.a[(p - 1) * depth_ + d] * part *
                                (regime == 2 ? 1 + std::ldexp(1.0, -20 - static_cast<int>(below(40))) : 1);
      }
    }
    if (partitions_ % 2 == 1) {
      for (std::size_t d = 0; d < depth_; ++d) row.a[(partitions_ - 1) * depth_ + d] = chance(1, 2) ? 0.0 : 0x1p-60;
    }
  }

  void draw_masses(Row& row) {
    const bool some_zero = chance(1, 4);
    for (std::size_t p = 0; p < partitions_; ++p) {
      row.l.push_back(some_zero && p > 0 && chance(1, 3) ? 0.0 : static_cast<double>(single(0.25, 300)));
      if (chance(1, 40)) row.l.back() = std::ldexp(1.0, static_cast<int>(below(260)) - 130);
    }
  }

  static double approximate(const Row& row, std::size_t d, std::size_t depth) {
    const bool natural = row.base == ExponentBase::natural;
    double top = *std::max_element(row.x.begin(), row.x.end());
    if (row.sink) top = std::max(top, natural ? *row.sink : *row.sink / std::log(2));
    double n = 0;
    double l = 0;
    for (std::size_t p = 0; p < row.x.size(); ++p) {
      const double w = natural ? std::exp(row.x[p] - top) : std::exp2(row.x[p] - top);
      if (row.x[p] == -kInf) continue;
      n += w * row.a[p * depth + d];
      l += w * (row.l.empty() ? 1.0 : row.l[p]);
    }
    if (row.sink) l += natural ? std::exp(*row.sink - top) : std::exp2(*row.sink / std::log(2) - top);
    return l > 0 ? n / l : 0.0;
  }

  void draw_output(Drawn& drawn, std::size_t d) {
    const double x = approximate(drawn.row, d, depth_);
    const double ulp = ulp_at(type_, x);
    double wanted = chance(1, 2) ? x : x + ulp * std::ldexp(uniform(-1, 1), static_cast<int>(below(20)) - 2);
    if (chance(1, 20)) wanted = 0;
    if (chance(1, 30)) wanted = chance(1, 2) ? kInf : -kInf;
    if (std::isnan(wanted)) wanted = 0;
    const std::uint32_t bits = round_to_nearest_even(type_, wanted);
    const double error = is_inf(type_, bits) ? ulp : std::fabs(decode(type_, bits) - x);
    double bound = error * std::ldexp(1 + unit(), static_cast<int>(below(7)) - 3);
    switch (below(12)) {
      case 0:
        bound = error;
        break;
      case 1:
        bound = std::nextafter(error, chance(1, 2) ? 0 : kInf);
        break;
      case 2:
        bound = error * (1 + uniform(-1, 1) * 0x1p-44);
        break;
      case 3:
        bound = 0;
        break;
      case 4:
        bound = ulp / 2;
        break;
      case 5:
        bound = chance(1, 3) ? kInf : std::ldexp(1.0, -static_cast<int>(below(1074)));
        break;
      case 6:
        bound = std::fabs(overflow_threshold(type_) - std::fabs(x));
        break;
      default:
        break;
    }
    drawn.out.push_back(bits);
    drawn.bound.push_back(std::isnan(bound) ? 1.0 : bound);
    drawn.inf_allowed.push_back(chance(1, 4));
  }

  std::mt19937_64 bits_;
  DType type_ = DType::f32;
  std::size_t partitions_ = 0;
  std::size_t depth_ = 0;
};

std::string describe(const ElementGrade& grade) {
  char text[300];
  std::snprintf(text, sizeof text, "ulp %a scaled %a use %a signed %a steps %lld rounded %08x within %d undecided %d",
                grade.ulp, grade.scaled_ulp, grade.bound_use, grade.signed_ulp, static_cast<long long>(grade.steps),
                grade.correctly_rounded, grade.within_bound, grade.undecided);
  return text;
}

// Grades by both; a row that one refuses the other has to refuse.
std::vector<ElementGrade> graded(Reference& reference, const HardRow::Drawn& drawn, bool& refused) {
  std::vector<ElementGrade> grades(drawn.out.size());
  refused = false;
  try {
    reference.grade_row(drawn.row.problem(), {drawn.type, drawn.out, drawn.bound, drawn.inf_allowed}, grades);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  return grades;
}

TierCounts expect_equal_grades(std::uint64_t seed, int rows) {
  HardRow hard(seed);
  TierCounts counts;
  const auto certified = make_certified_reference(&counts);
  const auto exact = make_exact_reference();
  int different = 0;
  for (int i = 0; i < rows && different < 5; ++i) {
    const HardRow::Drawn drawn = hard.draw();
    bool refused[2];
    const std::vector<ElementGrade> got = graded(*certified, drawn, refused[0]);
    const std::vector<ElementGrade> due = graded(*exact, drawn, refused[1]);
    EXPECT_EQ(refused[0], refused[1]) << drawn.regime;
    if (refused[0] || refused[1]) continue;
    for (std::size_t d = 0; d < due.size(); ++d) {
      if (got[d] == due[d]) continue;
      ++different;
      ADD_FAILURE() << "row " << i << " (" << drawn.regime << "), element " << d << " of " << name_of(drawn.type)
                    << "\n  certified " << describe(got[d]) << "\n  exact     " << describe(due[d]);
    }
  }
  return counts;
}

TEST(CertifiedReference, GradesAsTheExactOne) {
  const TierCounts counts = expect_equal_grades(11, 4000);
  // Every tier had its share: the comparison means something for each.
  EXPECT_GT(counts.elements - counts.left_double, counts.elements / 3);
  EXPECT_GT(counts.left_double - counts.left_double_double, counts.elements / 50);
  EXPECT_GT(counts.left_double_double, counts.elements / 100);
}

TEST(CertifiedReferenceNightlyTest, GradesAMillionRowsAsTheExactOne) {
  expect_equal_grades(12, 1'000'000);
}

void expect_equal_grade(const Row& row, DType type, double y, double bound) {
  const std::uint32_t bits = round_to_nearest_even(type, y);
  ElementGrade grade;
  make_certified_reference()->grade_row(row.problem(), {type, {&bits, 1}, {&bound, 1}, {}}, {&grade, 1});
  EXPECT_EQ(grade, grade_bits(row, type, bits, bound)) << y << ", bound " << bound;
}

// A power of two, and numbers off it by less than double shows, seen from afar: there the metrics are decided on either
// assumption about the binade.
TEST(CertifiedReference, AtABinadeEdge) {
  for (const double sign : {1.0, -1.0}) {
    for (const double other : {0.0, 1.0, 2.0}) {
      for (const double gap : {-60.5, -200.5, -900.5}) {
        for (const double ulps : {0.0, 1.0, 2049.0, -2049.0, 4099.0}) {
          const double y = sign * (1 + ulps * 0x1p-23);
          expect_equal_grade({{0, gap}, {sign, sign * other}}, DType::f32, y, 0x1p-12);
          // The same where C is in another binade.
          expect_equal_grade({{0, 0, gap}, {4 * sign, -2 * sign, sign * other}}, DType::f32, y, 0x1p-12);
        }
      }
    }
  }
}

// Weights that agree as doubles and differ beyond, down to where double-double cannot tell them apart either, on both
// sides of a midpoint that they would else meet exactly.
TEST(CertifiedReference, WeightsThatHardlyDiffer) {
  for (int k = 2; k <= 70; k += 4) {
    const double x = std::ldexp(1.0, -k);
    for (const double heavy : {1.0, -1.0}) {
      const Row row{{0.9, x, std::nextafter(x, 0)}, {1 + 0x1p-8, 1 + 0x1p-8 + heavy, 1 + 0x1p-8 - heavy}};
      expect_equal_grade(row, DType::bf16, 1, 0x1p-8);
    }
  }
}

// The mass of partitions whose weights are too small to compute can still count.
TEST(CertifiedReference, MassUnderTinyWeights) {
  for (const int exponent : {600, 640, 660, 670, 690, 700, 730}) {
    const Row row{{0, -701.5}, {1.5, 0}, {1, std::ldexp(1.0, exponent)}};
    for (const double bound : {0x1p-90, 0x1p-62, 0x1p-42, 0x1p-32, 0x1p-12, 1.0}) {
      expect_equal_grade(row, DType::f32, 1.5, bound);
    }
  }
}

// Depths around the four and sixteen columns that are taken at a time, partitions around the blocks of eight.
TEST(CertifiedReference, EveryShapeOfRow) {
  const auto certified = make_certified_reference();
  const auto exact = make_exact_reference();
  std::mt19937_64 bits(5);
  for (std::size_t partitions = 1; partitions <= 18; ++partitions) {
    for (std::size_t depth = 1; depth <= 35; depth += partitions % 3 + 1) {
      Row row;
      for (std::size_t i = 0; i < partitions; ++i) row.x.push_back(static_cast<double>(bits() % 1000) / 128);
      for (std::size_t i = 0; i < partitions * depth; ++i)
        row.a.push_back(static_cast<double>(bits() % 4096) / 512 - 4);
      const std::vector<std::uint32_t> out(depth, round_to_nearest_even(DType::bf16, 0.125));
      const std::vector<double> bound(depth, 0.75);
      std::vector<ElementGrade> got(depth);
      std::vector<ElementGrade> due(depth);
      certified->grade_row(row.problem(), {DType::bf16, out, bound, {}}, got);
      exact->grade_row(row.problem(), {DType::bf16, out, bound, {}}, due);
      ASSERT_EQ(got, due) << partitions << " partitions, depth " << depth;
    }
  }
}

TEST(CertifiedReference, DecidesOrdinaryRowsInDouble) {
  TierCounts counts;
  const auto certified = make_certified_reference(&counts);
  std::mt19937_64 bits(6);
  for (int i = 0; i < 200; ++i) {
    Row row;
    for (int p = 0; p < 37; ++p) row.x.push_back(static_cast<double>(bits() % 4096) / 1024);
    for (int k = 0; k < 37 * 128; ++k) row.a.push_back(static_cast<double>(bits() % 65536) / 8192 - 4);
    const std::vector<std::uint32_t> out(128, round_to_nearest_even(DType::bf16, 0.0625));
    const std::vector<double> bound(128, 0.3);
    std::vector<ElementGrade> grades(128);
    certified->grade_row(row.problem(), {DType::bf16, out, bound, {}}, grades);
  }
  EXPECT_EQ(counts.elements, 25600u);
  EXPECT_LT(counts.left_double, 25600u / 1000);
}

TEST(CertifiedReference, RefusesWhatTheExactOneRefuses) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto certified = make_certified_reference();
  const auto grade = [&](const Row& row, std::uint32_t bits, double bound) {
    std::vector<ElementGrade> grades(1);
    certified->grade_row(row.problem(), {DType::f32, {&bits, 1}, {&bound, 1}, {}}, grades);
  };
  EXPECT_THROW(grade({{nan}, {1}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{kInf}, {1}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{0}, {kInf}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{0, 1}, {nan, 1}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{0, -1e4}, {1, kInf}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{0}, {1}, {-1}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{-kInf}, {1}}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{0}, {1}, {}, kInf}, 0, 1), std::invalid_argument);
  EXPECT_THROW(grade({{0}, {1}}, 0, -1), std::invalid_argument);
  EXPECT_THROW(grade({{0}, {1}}, 0, nan), std::invalid_argument);
  EXPECT_THROW(grade({{0}, {1}}, 0x7fffffff, 1), std::invalid_argument);
  EXPECT_NO_THROW(grade({{0, -kInf}, {1, nan}}, 0, 1));
}

}  // namespace
}  // namespace lsecheck
