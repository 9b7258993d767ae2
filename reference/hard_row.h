#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "reference/test_row.h"

// Rows, outputs and bounds that are drawn to be hard for a reference, for tests.
namespace lsecheck {

inline constexpr const char* kExponentRegimes[] = {"narrow",   "dominant", "spread", "large", "huge",
                                                   "sentinel", "ties",     "flush",  "vanish"};
inline constexpr const char* kValueRegimes[] = {"normal",     "cancelling", "near zero",    "constant", "midpoint",
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

}  // namespace lsecheck
