#include "properties/recorded_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "properties/recorded_bound.h"
#include "reference/bound_arithmetic.h"

namespace lsecheck {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

enum class RowKind { ordinary, all_empty, special };

RowKind kind_of(const std::vector<double>& x) {
  bool any = false;
  for (const double lse : x) {
    if (std::isnan(lse) || lse == kInf) return RowKind::special;
    any = any || lse != -kInf;
  }
  return any ? RowKind::ordinary : RowKind::all_empty;
}

class Checker {
 public:
  Checker(const RecordedTensors& tensors, const ErrorModel& model, Reference& reference)
      : tensors_(tensors), model_(model), reference_(reference), causes_(model, tensors) {
    report_.rows_heads = tensors.rows_heads;
  }

  CheckReport run() {
    for (std::size_t rh = 0; rh < tensors_.rows_heads; ++rh) check_row(rh);
    report_.causes = causes_.causes();
    report_.rows_tried_for_causes = causes_.rows_tried();
    return std::move(report_);
  }

 private:
  void check_row(std::size_t rh) {
    const std::uint64_t failing_before = report_.failing_elements;
    const std::vector<double> x = tensors_.row_lse(rh);
    switch (kind_of(x)) {
      case RowKind::special:
        ++report_.special_rows;
        break;
      case RowKind::all_empty:
        ++report_.all_empty_rows;
        check_all_empty(rh);
        break;
      case RowKind::ordinary:
        check_ordinary(rh, x);
        break;
    }
    report_.failing_rows += report_.failing_elements != failing_before;
  }

  void check_all_empty(std::size_t rh) {
    bool nonzero = false, nan = false;
    for (std::size_t d = 0; d < tensors_.depth; ++d) {
      ++report_.graded_elements;
      const double got = out(rh, d);
      if (got == 0) continue;
      nonzero = true;
      nan = nan || std::isnan(got);
      add({.kind = FindingKind::all_empty_not_zero,
           .row_head = rh,
           .depth_index = d,
           .got_bits = tensors_.out_bits(rh, d),
           .got = got,
           .bound_use = kInf});
    }
    if (nonzero) causes_.add_all_empty_row(nan);
    if (tensors_.out_lse == nullptr) return;
    ++report_.graded_lse;
    const double got = decode(model_.out_lse, tensors_.out_lse->bits(rh));
    if (got == -kInf) return;
    add({.kind = FindingKind::all_empty_not_zero,
         .is_lse = true,
         .row_head = rh,
         .got_bits = tensors_.out_lse->bits(rh),
         .got = got,
         .exact = -kInf,
         .bound_use = kInf});
  }

  void check_ordinary(std::size_t rh, const std::vector<double>& x) {
    const std::vector<double> recorded = tensors_.row_o(rh);
    // Non-finite elements of live partitions: what they make due depends on whether the weight may be 0; without them
    // the element is graded.
    std::vector<double> o = recorded;
    for (std::size_t p = 0; p < x.size(); ++p) {
      if (x[p] == -kInf) continue;
      for (std::size_t d = 0; d < tensors_.depth; ++d) {
        if (!std::isfinite(o[p * tensors_.depth + d])) o[p * tensors_.depth + d] = 0;
      }
    }
    const RowProblem problem{.base = model_.base, .x = x, .l = {}, .a = o, .depth = tensors_.depth, .sink = {}};
    const RecordedRowBound bound = bound_row(model_, problem);
    if (!bound.bounded) {
      ++report_.unbounded_rows;
      return;
    }
    const std::uint64_t failing_before = report_.failing_elements;
    std::vector<std::size_t> undecided;
    for (std::size_t d = 0; d < tensors_.depth; ++d) {
      ++report_.graded_elements;
      report_.loose_elements += bound.bound[d] > bound.largest_input[d] && bound.largest_input[d] > 0;
      if (!decided(rh, d, x, recorded, bound)) undecided.push_back(d);
    }
    if (!undecided.empty()) grade_exactly(rh, problem, bound, undecided);
    if (report_.failing_elements != failing_before) causes_.add_failing_row(rh, x, recorded);
    check_lse(rh, bound);
  }

  // What the enclosure decides, or the special-value rules. False: the exact reference must.
  bool decided(std::size_t rh, std::size_t d, const std::vector<double>& x, const std::vector<double>& recorded,
               const RecordedRowBound& bound) {
    const double got = out(rh, d);
    bool any = false, due = false;
    for (std::size_t p = 0; p < x.size(); ++p) {
      if (x[p] == -kInf || std::isfinite(recorded[p * tensors_.depth + d])) continue;
      any = true;
      due = due || bound.weight_is_nonzero[p] != 0;
    }
    if (due) {
      if (std::isfinite(got)) {
        add({.kind = FindingKind::not_nan,
             .row_head = rh,
             .depth_index = d,
             .got_bits = tensors_.out_bits(rh, d),
             .got = got,
             .exact = kNaN,
             .bound_use = kInf});
      }
      return true;
    }
    if (!std::isfinite(got) && (any || bound.may_overflow[d])) return true;
    if (std::isnan(got)) {
      add({.kind = FindingKind::not_finite,
           .row_head = rh,
           .depth_index = d,
           .got_bits = tensors_.out_bits(rh, d),
           .got = got,
           .exact = bound.value[d],
           .correctly_rounded = round_to_nearest_even(model_.out, bound.value[d]),
           .ulp = kInf,
           .bound = bound.bound[d],
           .bound_use = kInf});
      return true;
    }
    if (std::isinf(got)) return false;
    const double distance =
        add_up(std::max(sub_up(got, bound.value[d]), sub_up(bound.value[d], got)), bound.value_error[d]);
    if (distance > bound.bound[d]) return false;
    report_.largest_bound_use = std::max(report_.largest_bound_use, distance / bound.bound[d]);
    return true;
  }

  void grade_exactly(std::size_t rh, const RowProblem& problem, const RecordedRowBound& bound,
                     const std::vector<std::size_t>& elements) {
    std::vector<double> a;
    for (std::size_t p = 0; p < problem.x.size(); ++p) {
      for (const std::size_t d : elements) a.push_back(problem.a[p * problem.depth + d]);
    }
    std::vector<std::uint32_t> bits;
    std::vector<double> bounds;
    for (const std::size_t d : elements) {
      bits.push_back(tensors_.out_bits(rh, d));
      bounds.push_back(bound.bound[d]);
    }
    RowProblem selected = problem;
    selected.a = a;
    selected.depth = elements.size();
    std::vector<ElementGrade> grades(elements.size());
    reference_.grade_row(selected, {.out = model_.out, .out_bits = bits, .bound = bounds, .inf_allowed = {}}, grades);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const ElementGrade& grade = grades[i];
      const std::size_t d = elements[i];
      if (grade.within_bound && !grade.undecided) {
        report_.largest_bound_use = std::max(report_.largest_bound_use, grade.bound_use);
        continue;
      }
      const double got = out(rh, d);
      const auto kind = grade.undecided      ? FindingKind::undecided
                        : std::isfinite(got) ? FindingKind::outside_bound
                                             : FindingKind::not_finite;
      add({.kind = kind,
           .row_head = rh,
           .depth_index = d,
           .got_bits = bits[i],
           .got = got,
           .exact = bound.value[d],
           .correctly_rounded = grade.correctly_rounded,
           .ulp = grade.ulp,
           .bound = bounds[i],
           .bound_use = grade.bound_use});
      if (std::isfinite(grade.bound_use)) {
        report_.largest_bound_use = std::max(report_.largest_bound_use, grade.bound_use);
      }
    }
  }

  void check_lse(std::size_t rh, const RecordedRowBound& bound) {
    if (tensors_.out_lse == nullptr) return;
    ++report_.graded_lse;
    const std::uint32_t bits = tensors_.out_lse->bits(rh);
    const double got = decode(model_.out_lse, bits);
    const double tolerance = add_up(bound.lse_bound, bound.lse_error);
    const double distance = std::fabs(got - bound.lse);
    const bool overflows = add_up(std::fabs(bound.lse), tolerance) >= overflow_threshold(model_.out_lse);
    // sub and fabs round once; the tolerance is far above that.
    if (distance <= add_up(tolerance, mul_up(0x1p-52, std::fabs(bound.lse))) || (std::isinf(got) && overflows)) return;
    const bool finite = std::isfinite(got);
    add({.kind = finite ? FindingKind::outside_bound : FindingKind::not_finite,
         .is_lse = true,
         .row_head = rh,
         .got_bits = bits,
         .got = got,
         .exact = bound.lse,
         .correctly_rounded = round_to_nearest_even(model_.out_lse, bound.lse),
         .ulp = finite ? distance / ulp_at(model_.out_lse, bound.lse) : kInf,
         .bound = bound.lse_bound,
         .bound_use = finite ? distance / tolerance : kInf});
    causes_.add_failing_lse(got, bound.lse, tolerance);
  }

  double out(std::size_t rh, std::size_t d) const { return decode(model_.out, tensors_.out_bits(rh, d)); }

  // Largest first; rows arrive in order, so a later equal one stays behind.
  void add(const Finding& finding) {
    ++report_.failing_elements;
    auto& worst = report_.worst;
    const auto place =
        std::upper_bound(worst.begin(), worst.end(), finding,
                         [](const Finding& left, const Finding& right) { return left.bound_use > right.bound_use; });
    worst.insert(place, finding);
    if (worst.size() > CheckReport::kMaxWorst) worst.pop_back();
  }

  const RecordedTensors& tensors_;
  const ErrorModel model_;
  Reference& reference_;
  CauseFinder causes_;
  CheckReport report_;
};

}  // namespace

std::string_view name_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::outside_bound:
      return "outside the bound";
    case FindingKind::not_finite:
      return "not finite where a finite value is due";
    case FindingKind::not_nan:
      return "finite where NaN or Inf is due";
    case FindingKind::all_empty_not_zero:
      return "every partition is empty";
    case FindingKind::undecided:
      break;
  }
  return "undecided by the reference";
}

std::uint64_t working_bytes(const RecordedTensors& tensors) {
  // The row as recorded, cleaned, selected for the reference, and twice in the search for causes; sums and bounds of
  // its elements. No overflow: P D is less than the file's bytes.
  return 8 * (5 * tensors.num_partitions * tensors.depth + 16 * tensors.depth);
}

CheckReport check_recorded(const RecordedTensors& tensors, ErrorModel model, Reference& reference) {
  model.out = *tensors.out->dtype;
  model.out_lse = tensors.out_lse == nullptr ? DType::f32 : *tensors.out_lse->dtype;
  return Checker(tensors, model, reference).run();
}

}  // namespace lsecheck
