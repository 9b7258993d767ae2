#include "properties/certify/certify_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "properties/grade_case.h"
#include "properties/run_case.h"
#include "reference/certified_reference.h"

namespace lsecheck::certify {

namespace {

constexpr std::size_t kRecordsAtOnce = 256;

CertifiedGrade as_certified(const ElementGrade& grade) {
  return {true,
          grade.signed_ulp < 0,
          static_cast<float>(grade.ulp),
          static_cast<float>(grade.scaled_ulp),
          static_cast<float>(grade.bound_use),
          static_cast<std::uint32_t>(grade.steps),
          grade.correctly_rounded};
}

std::string text_of(const CertifiedGrade& grade) {
  return fmt::format("ulp {}{}, scaled_ulp {}, bound_use {}, {} steps, rounds to {:#06x}", grade.below ? "-" : "",
                     grade.ulp, grade.scaled_ulp, grade.bound_use, grade.steps, grade.correctly_rounded);
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

class SecondTier {
 public:
  SecondTier(const Plan& plan, Result& result) : plan_(plan), result_(result), reference_(make_certified_reference()) {}

  void judge(std::uint64_t row, const RowRecord& record, bool to_verify) {
    const CaseTensors drawn = draw_rows(plan_.sequence, row, 1);
    compare_inputs(row, record, drawn);
    if (to_verify) compare_output(row, record, drawn);
    const CaseGrades due = grade_output(drawn, variant_of(drawn.spec), record.output, *reference_);
    ++result_.compared_rows;
    for (std::uint32_t d = 0; d < plan_.sequence.ov_depth; ++d) judge_element(row, d, record, due);
    if (due.violation) {
      result_.failures.add(fmt::format("{}, d {}: {}; {} elements of the row", place_of(plan_.sequence, row),
                                       due.violation->depth_index, due.violation->message, due.violations));
    }
  }

 private:
  void disagree(std::uint64_t row, const std::string& what) {
    result_.disagreements.add(fmt::format("row {}, {}: {}", row, place_of(plan_.sequence, row), what));
  }

  void compare_inputs(std::uint64_t row, const RowRecord& record, const CaseTensors& drawn) {
    std::vector<float> o;
    o.reserve(drawn.o_partial.size());
    for (const std::uint32_t bits : drawn.o_partial) o.push_back(std::bit_cast<float>(bits));
    if (!same_bits(record.lse, drawn.lse_partial)) disagree(row, "LSEs of other bits than the host draws");
    if (!same_bits(record.o, o)) disagree(row, "partials of other bits than the host draws");
  }

  void compare_output(std::uint64_t row, const RowRecord& record, const CaseTensors& drawn) {
    const KernelRun run = run_kernel(drawn, {.backend = Backend::cpu, .variant = {}, .schedule = {}});
    if (run.fault) {
      disagree(row, *run.fault);
    } else if (run.out_bits != record.output) {
      disagree(row, "outputs of other bits than the executor gives");
    }
  }

  void judge_element(std::uint64_t row, std::uint32_t d, const RowRecord& record, const CaseGrades& due) {
    const CertifiedGrade& first = record.grades[d];
    const ElementGrade& grade = due.grades[d];
    const bool graded = due.graded[d] != 0;
    const bool passes = graded && grade.within_bound && !grade.undecided;
    if (first.decided) {
      ++result_.compared_elements;
      const CertifiedGrade expected = graded && !grade.undecided ? as_certified(grade) : CertifiedGrade{};
      if (first != expected) {
        disagree(row, fmt::format("d {}: certified as {}; the reference: {}", d, text_of(first),
                                  expected.decided ? text_of(expected) : "no finite value due, or undecided"));
      }
      if (first.bound_use <= 1) return;  // already counted
    }
    if (passes) {
      ++result_.certified;
      ++result_.second_tier;
      const CertifiedGrade settled = as_certified(grade);
      raise(result_.largest[kUlp], {settled.ulp, row, d});
      raise(result_.largest[kScaledUlp], {settled.scaled_ulp, row, d});
      raise(result_.largest[kBoundUse], {settled.bound_use, row, d});
    } else if (!(graded && grade.undecided)) {
      ++result_.failing;
    }
  }

  const Plan& plan_;
  Result& result_;
  std::unique_ptr<Reference> reference_;
};

// Row i of n that are spread evenly over the plan's rows.
std::uint64_t spread_row(const Plan& plan, std::uint64_t i) {
  const std::uint64_t stride = plan.rows / plan.verify;
  const std::uint64_t rest = plan.rows % plan.verify;
  return i * stride + i * rest / plan.verify;
}

}  // namespace

void Findings::add(std::string line) {
  ++count;
  if (first.size() < kListed) first.push_back(std::move(line));
}

Result certify_rows_of(const Plan& given, RowCertifier& certifier, const std::function<void(std::uint64_t)>& progress) {
  Plan plan = given;
  plan.verify = std::min(plan.verify, plan.rows);
  Result result;
  result.elements = plan.rows * plan.sequence.ov_depth;
  SecondTier second_tier(plan, result);
  std::uint64_t next_spread = 0;
  for (std::uint64_t first = 0; first < plan.rows;) {
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(certifier.batch_rows(), plan.rows - first));
    const BatchVerdict batch = certifier.certify(first, count);
    result.certified += std::uint64_t{count} * plan.sequence.ov_depth - batch.open_elements - batch.failing_elements;
    result.unlisted_rows += batch.unlisted_rows;
    for (std::size_t metric = 0; metric < kMetrics; ++metric) raise(result.largest[metric], batch.largest[metric]);

    std::vector<std::uint64_t> to_verify;
    for (; next_spread < plan.verify && spread_row(plan, next_spread) < first + count; ++next_spread) {
      to_verify.push_back(spread_row(plan, next_spread));
    }
    std::vector<std::uint64_t> rows;
    std::set_union(to_verify.begin(), to_verify.end(), batch.open_rows.begin(), batch.open_rows.end(),
                   std::back_inserter(rows));
    for (std::size_t done = 0; done < rows.size(); done += kRecordsAtOnce) {
      const auto some = std::span(rows).subspan(done, std::min(kRecordsAtOnce, rows.size() - done));
      const std::vector<RowRecord> records = certifier.records(some);
      for (std::size_t i = 0; i < some.size(); ++i) {
        second_tier.judge(some[i], records[i], std::binary_search(to_verify.begin(), to_verify.end(), some[i]));
      }
    }
    first += count;
    progress(first);
  }
  result.seconds = certifier.seconds();
  return result;
}

}  // namespace lsecheck::certify
