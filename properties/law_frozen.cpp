#include "properties/law_frozen.h"

#include <fmt/format.h>

#include <algorithm>

#include "properties/law_tools.h"
#include "properties/runner.h"
#include "properties/token.h"

namespace lsecheck {

namespace {

constexpr std::size_t kReportedRows = 6;

std::string errors_text(const FrozenRow& row) {
  return row.scaled_ulp < 0 ? "nothing graded"
                            : fmt::format("scaled_ulp {:.4g}, bound_use {:.4g}", row.scaled_ulp, row.bound_use);
}

std::string row_text(const FrozenRow* row) {
  return row == nullptr ? "none" : fmt::format("{:016x} ({})", row->digest, errors_text(*row));
}

const FrozenRow* find(const FrozenRows& rows, const FrozenKey& key) {
  const auto found = rows.find(key);
  return found == rows.end() ? nullptr : &found->second;
}

bool same_bits(const FrozenRow* a, const FrozenRow* b) {
  return a != nullptr && b != nullptr && a->cases == b->cases && a->digest == b->digest;
}

FrozenRows rows_of(const FrozenRows& rows, KernelId kernel) {
  FrozenRows own;
  std::copy_if(rows.begin(), rows.end(), std::inserter(own, own.end()),
               [&](const auto& row) { return row.first.kernel == name_of(kernel); });
  return own;
}

std::vector<FrozenKey> changed_keys(const FrozenRows& recorded, const FrozenRows& now) {
  FrozenRows all = recorded;
  all.insert(now.begin(), now.end());
  std::vector<FrozenKey> changed;
  for (const auto& [key, row] : all) {
    if (!same_bits(find(recorded, key), find(now, key))) changed.push_back(key);
  }
  return changed;
}

// Digests come first and alone: errors are measured only in the rows that the message shows.
FrozenRows measured_where_changed(KernelId kernel, const FrozenRows& recorded) {
  FrozenRows now = measure_frozen(kernel, FrozenErrors::leave_out);
  std::vector<FrozenKey> shown = changed_keys(recorded, now);
  if (shown.empty()) return now;
  shown.resize(std::min(shown.size(), kReportedRows));
  for (auto& [key, row] : measure_frozen(kernel, FrozenErrors::measure, [&](const FrozenKey& candidate) {
         return std::binary_search(shown.begin(), shown.end(), candidate);
       })) {
    now[key] = row;
  }
  return now;
}

std::string change_message(const FrozenRows& recorded, const FrozenRows& now) {
  return fmt::format(
      "{} of {} rows of the frozen cases have other output bits:\n{}\nmeant? `lsecheck run "
      "--update-frozen properties/frozen/cpu.txt`, and the diff shows it",
      changed_keys(recorded, now).size(), std::max(recorded.size(), now.size()),
      frozen_changes(recorded, now, kReportedRows));
}

}  // namespace

std::string frozen_changes(const FrozenRows& recorded, const FrozenRows& now, std::size_t limit) {
  const std::vector<FrozenKey> changed = changed_keys(recorded, now);
  std::string text;
  for (std::size_t i = 0; i < std::min(limit, changed.size()); ++i) {
    const FrozenKey& key = changed[i];
    text += fmt::format("{}{} {} {} {}: {} -> {}", i == 0 ? "" : "\n", key.kernel, key.variant, key.arch, key.types,
                        row_text(find(recorded, key)), row_text(find(now, key)));
  }
  return text;
}

RunResults check_frozen_kernel(KernelId kernel, const FrozenRows& recorded) {
  const FrozenRows own = rows_of(recorded, kernel);
  const FrozenRows now = measured_where_changed(kernel, own);
  const std::vector<FrozenKey> changed = changed_keys(own, now);
  RunResults results;
  const std::string name(name_of(kernel));
  LawRow& law = results.laws[{name, "frozen_digest"}];
  law.checked = std::max(own.size(), now.size());
  law.failed = changed.size();
  if (changed.empty()) return results;
  const FrozenRow* row = find(now, changed.front());
  const std::string token = row != nullptr ? row->token : now.begin()->second.token;
  const auto parsed = parse_token(token);
  results.totals.failures = 1;
  results.failures.push_back({0, name, "frozen_digest", token, token, "",
                              "the frozen cases, among them " + describe_spec(std::get<Token>(parsed).spec),
                              change_message(own, now)});
  return results;
}

LawOutcome check_frozen_digest(const CaseTensors& tensors, Reference&) {
  if (backend_in_use() != Backend::cpu) return LawOutcome::skip("holds the executor's bits: --backend cpu");
  const FrozenRows own = rows_of(recorded_frozen_rows(), tensors.spec.kernel);
  const FrozenRows now = measured_where_changed(tensors.spec.kernel, own);
  return changed_keys(own, now).empty() ? LawOutcome::pass() : LawOutcome::fail(change_message(own, now));
}

}  // namespace lsecheck
