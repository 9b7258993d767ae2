#include "properties/recorded_cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "properties/recorded_bound.h"
#include "reference/bound_arithmetic.h"

namespace lsecheck {

struct CauseFinder::Row {
  std::size_t rh = 0;
  const std::vector<double>& x;
  const std::vector<double>& o;       // as recorded, with garbage
  std::vector<std::size_t> live;      // the non-empty partitions
  std::vector<std::size_t> elements;  // d that are compared
  std::vector<double> got;            // [elements]
  std::vector<double> clean;          // [P, elements], finite where live
};

namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;

const char* name_of_base(ExponentBase base) {
  return base == ExponentBase::log2 ? "log2" : "natural-log";
}

ExponentBase other(ExponentBase base) {
  return base == ExponentBase::log2 ? ExponentBase::natural : ExponentBase::log2;
}

}  // namespace

CauseFinder::CauseFinder(const ErrorModel& model, const RecordedTensors& tensors) : model_(model), tensors_(tensors) {
  for (ByPartition* found : {&equals_, &without_, &twice_}) found->rows_of.resize(tensors.num_partitions);
}

bool CauseFinder::fits(const Row& row, const std::vector<double>& x, const std::vector<double>& o,
                       ExponentBase base) const {
  ErrorModel model = model_;
  model.base = base;
  RowProblem problem{.base = base, .x = x, .l = {}, .a = o, .depth = row.elements.size(), .sink = {}};
  const RecordedRowBound bound = bound_row(model, problem);
  if (!bound.bounded) return false;
  for (std::size_t i = 0; i < row.elements.size(); ++i) {
    if (!(std::fabs(row.got[i] - bound.value[i]) <= bound.bound[i] + bound.value_error[i])) return false;
  }
  return true;
}

void CauseFinder::add_failing_row(std::size_t rh, const std::vector<double>& x, const std::vector<double>& o) {
  std::uint64_t cost = x.size() * tensors_.depth;  // less than the file's bytes
  if (__builtin_mul_overflow(cost, x.size(), &cost) || cost > kMaxWork - work_ || rows_tried_ == kMaxRows) return;
  work_ += cost;
  ++rows_tried_;
  Row row{.rh = rh, .x = x, .o = o, .live = {}, .elements = {}, .got = {}, .clean = {}};
  for (std::size_t p = 0; p < x.size(); ++p) {
    if (!std::isinf(x[p])) row.live.push_back(p);
  }
  const std::size_t depth = tensors_.depth;
  for (std::size_t d = 0; d < depth; ++d) {
    const bool finite =
        std::all_of(row.live.begin(), row.live.end(), [&](std::size_t p) { return std::isfinite(o[p * depth + d]); });
    if (!finite) continue;
    row.elements.push_back(d);
    row.got.push_back(decode(*tensors_.out->dtype, tensors_.out_bits(rh, d)));
  }
  if (row.elements.empty()) return;
  for (std::size_t p = 0; p < x.size(); ++p) {
    for (const std::size_t d : row.elements) row.clean.push_back(o[p * depth + d]);
  }
  try_leak(row);
  const bool all_finite = std::all_of(row.got.begin(), row.got.end(), [](double y) { return std::isfinite(y); });
  if (!all_finite) return;
  try_other_base(row);
  try_equals_input(row);
  try_without(row);
  try_twice(row);
  try_unweighted(row);
}

void CauseFinder::try_leak(const Row& row) {
  bool any = false;
  for (std::size_t i = 0; i < row.elements.size(); ++i) {
    if (std::isfinite(row.got[i])) continue;
    bool garbage = false;
    for (std::size_t p = 0; p < row.x.size(); ++p) {
      garbage = garbage || (std::isinf(row.x[p]) && !std::isfinite(row.clean[p * row.elements.size() + i]));
    }
    if (!garbage) return;
    any = true;
  }
  if (any) ++leak_;
}

void CauseFinder::try_other_base(const Row& row) {
  if (fits(row, row.x, row.clean, other(model_.base))) ++other_base_;
}

void CauseFinder::try_equals_input(const Row& row) {
  const DType out = *tensors_.out->dtype;
  bool any = false;
  for (const std::size_t p : row.live) {
    bool equal = true;
    for (std::size_t i = 0; i < row.elements.size() && equal; ++i) {
      const double input = row.clean[p * row.elements.size() + i];
      equal = decode(out, round_to_nearest_even(out, input)) == row.got[i];
    }
    if (!equal) continue;
    ++equals_.rows_of[p];
    any = true;
  }
  equals_.rows += any;
}

void CauseFinder::try_without(const Row& row) {
  if (row.live.size() < 2) return;
  bool any = false;
  std::vector<double> x = row.x;
  for (const std::size_t p : row.live) {
    x[p] = -std::numeric_limits<double>::infinity();
    if (fits(row, x, row.clean, model_.base)) {
      ++without_.rows_of[p];
      any = true;
    }
    x[p] = row.x[p];
  }
  without_.rows += any;
}

// Weight and value twice: the row with the partition appended once more.
void CauseFinder::try_twice(const Row& row) {
  if (row.live.size() < 2) return;
  const std::size_t width = row.elements.size();
  bool any = false;
  std::vector<double> x = row.x;
  std::vector<double> o = row.clean;
  x.push_back(0);
  o.resize(o.size() + width);
  for (const std::size_t p : row.live) {
    x.back() = row.x[p];
    std::copy_n(row.clean.begin() + static_cast<std::ptrdiff_t>(p * width), width,
                o.end() - static_cast<std::ptrdiff_t>(width));
    if (fits(row, x, o, model_.base)) {
      ++twice_.rows_of[p];
      any = true;
    }
  }
  twice_.rows += any;
}

// n - 1 additions, each stored, a division, the cast.
void CauseFinder::try_unweighted(const Row& row) {
  if (row.live.size() < 2) return;
  const DType out = *tensors_.out->dtype;
  const double unit = unit_roundoff(model_.intermediate) + unit_roundoff(DType::f32);
  const auto fits_sum_over = [&](double count) {
    for (std::size_t i = 0; i < row.elements.size(); ++i) {
      double sum = 0, magnitude = 0;
      for (const std::size_t p : row.live) {
        sum += row.clean[p * row.elements.size() + i];
        magnitude += std::fabs(row.clean[p * row.elements.size() + i]);
      }
      const double rounding = gamma_up(2 * row.live.size() + 4, unit) * magnitude / count + 0x1p-120;
      const double tolerance = rounding + cast_error_up(out, std::fabs(sum) / count + rounding);
      if (!(std::fabs(row.got[i] - sum / count) <= tolerance)) return false;
    }
    return true;
  };
  sum_ += fits_sum_over(1.0);
  mean_ += fits_sum_over(static_cast<double>(row.live.size()));
}

void CauseFinder::add_all_empty_row(bool holds_nan) {
  ++(holds_nan ? empty_nan_ : empty_nonzero_);
}

void CauseFinder::add_failing_lse(double got, double exact, double tolerance) {
  const double factor = model_.base == ExponentBase::log2 ? 1 / kLog2E : kLog2E;
  // Converted with one more f32 rounding of constant and product each.
  const double converted = exact * factor;
  const double widened = tolerance * factor + 0x1p-22 * std::fabs(converted) + cast_error_up(model_.out_lse, converted);
  lse_base_ += std::fabs(got - converted) <= widened;
}

std::string CauseFinder::text_of(const char* what, const ByPartition& found) const {
  const auto most = std::max_element(found.rows_of.begin(), found.rows_of.end());
  const auto p = static_cast<std::size_t>(most - found.rows_of.begin());
  if (*most != found.rows || found.rows == 0) return fmt::format(fmt::runtime(what), "one partition");
  const char* place = p + 1 == found.rows_of.size() ? " (the last)" : p == 0 ? " (the first)" : "";
  return fmt::format(fmt::runtime(what), fmt::format("partition {}{}", p, place));
}

std::vector<Cause> CauseFinder::causes() const {
  const char* own = name_of_base(model_.base);
  const char* opposite = name_of_base(other(model_.base));
  std::vector<Cause> all{
      // of the weights
      {fmt::format("every weight is off by the same power: the output fits {} LSEs, not {} ones; either the kernel or "
                   "--lse-domain mixes them up",
                   opposite, own),
       other_base_},
      {text_of("the output equals the input of {}, whatever the weights", equals_), equals_.rows},
      {text_of("{} is left out", without_), without_.rows},
      {text_of("{} is counted twice", twice_), twice_.rows},
      {"the output is the sum of the partitions: the weights are missing", sum_},
      {"the output is the mean of the partitions: the weights are missing", mean_},
  };
  const bool some_explain_all = rows_tried_ > 0 && std::any_of(all.begin(), all.end(), [&](const Cause& cause) {
                                  return cause.rows_fit >= rows_tried_;
                                });
  std::erase_if(all, [&](const Cause& cause) {
    return cause.rows_fit == 0 || (some_explain_all && cause.rows_fit < rows_tried_);
  });
  const std::vector<Cause> others{
      {"NaN or Inf under an empty partition reaches the output (0 * NaN): select on the weight before the product",
       leak_},
      {"NaN where every partition is empty (-inf - -inf, or 0 / 0): the output must be zero", empty_nan_},
      {"nonzero output where every partition is empty: it must be zero", empty_nonzero_},
      {fmt::format("out_lse is a {} LSE, not a {} one", opposite, own), lse_base_},
  };
  std::copy_if(others.begin(), others.end(), std::back_inserter(all),
               [](const Cause& cause) { return cause.rows_fit > 0; });
  std::stable_sort(all.begin(), all.end(),
                   [](const Cause& left, const Cause& right) { return left.rows_fit > right.rows_fit; });
  return all;
}

}  // namespace lsecheck
