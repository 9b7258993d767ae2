#include "properties/detectors.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "properties/grade_case.h"
#include "properties/law_tools.h"

namespace lsecheck {

namespace {

struct Tolerance {
  double atol;
  double rtol;
};
constexpr std::array<Tolerance, 4> kTolerances{{{1e-5, 1.6e-2}, {1e-5, 1.3e-6}, {1e-2, 1e-2}, {1e-3, 1e-3}}};

// What one case's output is held against.
class Comparison {
 public:
  explicit Comparison(DType out) : out_(out) {}

  // What no tolerance excuses: NaN or Inf in place of something else.
  void add_wrong_class() { flags_ = 0xff; }

  // A finite reference.
  void add(double got, double reference) {
    const double expected = decode(out_, round_to_nearest_even(out_, reference));
    if (std::isnan(got) || (std::isinf(got) && got != expected)) return add_wrong_class();
    if (std::isinf(expected)) {
      if (got != expected) add_wrong_class();
      return;
    }
    for (std::size_t i = 0; i < kTolerances.size(); ++i) {
      const bool close = std::fabs(got - expected) <= kTolerances[i].atol + kTolerances[i].rtol * std::fabs(expected);
      if (!close) flags_ |= static_cast<std::uint8_t>(1U << i);
    }
    largest_error_ = std::max(largest_error_, std::fabs(got - reference));
    largest_cast_ = std::max(largest_cast_, std::fabs(expected - reference));
  }

  std::uint8_t flags() const {
    const bool beyond = largest_error_ > 2 * largest_cast_;
    const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(Detector::twice_cast));
    const auto all = static_cast<std::uint8_t>(flags_ | (beyond ? bit : 0));
    return all & ((1U << kDetectorCount) - 1);
  }

 private:
  DType out_;
  std::uint8_t flags_ = 0;
  double largest_error_ = 0;
  double largest_cast_ = 0;
};

// The row's output in double, within 2^-37 of sum |terms|.
std::vector<double> double_reference(const RowProblem& row) {
  const std::vector<double> weights = weights_up(row);
  std::vector<double> out(row.depth, 0.0);
  for (std::size_t p = 0; p < weights.size(); ++p) {
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += weights[p] * row.a[p * out.size() + d];
  }
  return out;
}

}  // namespace

std::uint8_t detectors_that_flag(const CaseTensors& tensors, const AccuracyMeasurement& measured) {
  const std::size_t columns = columns_of(tensors.spec);
  Comparison comparison(tensors.spec.out);
  for (std::size_t rh = 0; rh < tensors.spec.rows_heads(); ++rh) {
    const RowVerdictInput row = row_verdict_input(tensors, measured.variant, rh);
    const RowExpectation& expectation = row.expectation;
    std::vector<double> reference(columns, 0.0);
    if (expectation.row_class == RowClass::finite) reference = double_reference(expectation.problem());
    for (std::size_t d = 0; d < columns; ++d) {
      const double got = decode(tensors.spec.out, measured.out_bits[rh * columns + d]);
      if (expectation.row_class == RowClass::all_nan) {
        if (!std::isnan(got)) comparison.add_wrong_class();
      } else if (expectation.row_class == RowClass::zeros || measured.grades.graded[rh * columns + d]) {
        comparison.add(got, reference[d]);
      }
    }
  }
  return comparison.flags();
}

void DetectorLog::add(std::uint64_t case_index, const CaseTensors& tensors, const AccuracyMeasurement& measured) {
  const std::uint8_t flags = detectors_that_flag(tensors, measured);
  const std::lock_guard lock(mutex_);
  flags_[case_index] = flags;
}

std::vector<std::uint64_t> DetectorLog::flagged(Detector detector) const {
  std::vector<std::uint64_t> cases;
  for (const auto& [index, flags] : flags_) {
    if ((flags >> static_cast<unsigned>(detector) & 1) != 0) cases.push_back(index);
  }
  return cases;
}

std::string detectors_text(const DetectorLog& log) {
  nlohmann::ordered_json json;
  json["schema"] = "lsecheck.detectors/1";
  json["cases"] = log.cases();
  for (std::size_t i = 0; i < kDetectorCount; ++i) {
    json["flagged"][std::string(kDetectorNames[i])] = log.flagged(static_cast<Detector>(i));
  }
  return json.dump() + "\n";
}

std::array<std::vector<std::uint64_t>, kDetectorCount> parse_detectors(std::string_view text) {
  std::array<std::vector<std::uint64_t>, kDetectorCount> flagged;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    for (std::size_t i = 0; i < kDetectorCount; ++i) {
      flagged[i] = json.at("flagged").at(std::string(kDetectorNames[i])).get<std::vector<std::uint64_t>>();
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument(std::string("not the detectors of a run: ") + error.what());
  }
  return flagged;
}

}  // namespace lsecheck
