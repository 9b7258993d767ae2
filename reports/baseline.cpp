#include "reports/baseline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "reports/context_fields.h"
#include "reports/run_summary.h"
#include "reports/store_error.h"

namespace lsecheck {
namespace {

// A word of a line: the names of kernels, laws and regimes have no blanks, a foreign file's may.
std::string word(const std::string& text) {
  std::string safe = printable(text);
  for (char& c : safe) {
    if (c == ' ' || c == '\n') c = '_';
  }
  return safe.empty() ? "-" : safe;
}

WorstSeen worst_of(const MetricSummary& metric) {
  return {metric.stats.max.value, metric.stats.max.value < 0 ? "" : word(metric.stats.max.token)};
}

std::string text_of(const WorstSeen& worst) {
  return worst.value < 0 ? "- -" : fmt::format("{} {}", worst.value, worst.token);
}

// The options that say nothing of which cases run and what bits they give.
bool fixes_no_bits(std::string_view field) {
  constexpr std::string_view kNames[] = {"version",   "commit",          "compiler", "flags",           "profile",
                                         "reference", "cases_requested", "shard",    "hunt_evaluations"};
  for (const std::string_view name : kNames) {
    if (field == name) return true;
  }
  return false;
}

[[noreturn]] void refuse(const std::string& source, std::size_t line, const std::string& reason) {
  throw StoreError(StoreError::Kind::unreadable,
                   fmt::format("cannot read {}: line {} {}; write it again with lsecheck report --format baseline",
                               source, line, reason));
}

// The words of one line, taken one after another.
class Words {
 public:
  Words(const std::string& source, std::size_t number, const std::string& line) : source_(source), number_(number) {
    std::size_t begin = 0;
    while (true) {
      const std::size_t end = line.find(' ', begin);
      words_.push_back(line.substr(begin, end - begin));
      if (words_.back().empty()) bad("has an empty field");
      if (end == std::string::npos) break;
      begin = end + 1;
    }
  }

  [[noreturn]] void bad(const std::string& reason) const { refuse(source_, number_, reason); }
  const std::string& text() {
    if (next_ == words_.size()) bad("ends too early");
    return words_[next_++];
  }
  template <typename Number>
  Number number() {
    return parsed<Number>(text());
  }
  std::uint64_t bits() {
    const std::string& field = text();
    if (!field.starts_with("0x") || field.size() != 18)
      bad(fmt::format("has '{}' in place of 0x and 16 digits", field));
    std::uint64_t value = 0;
    const auto [last, error] = std::from_chars(field.data() + 2, field.data() + field.size(), value, 16);
    if (error != std::errc{} || last != field.data() + field.size()) bad(fmt::format("has '{}' in it", field));
    return value;
  }
  WorstSeen worst() {
    const std::string value = text();
    const std::string token = text();
    if (value == "-") return {};
    return {value == "inf" ? std::numeric_limits<double>::infinity() : parsed<double>(value), token};
  }
  void end() const {
    if (next_ != words_.size()) bad("is too long");
  }

 private:
  template <typename Number>
  Number parsed(const std::string& field) const {
    Number value{};
    const auto [last, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc{} || last != field.data() + field.size() || !(value >= 0) ||
        !std::isfinite(static_cast<double>(value))) {
      bad(fmt::format("has '{}' in place of a number", field));
    }
    return value;
  }

  const std::string& source_;
  std::size_t number_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

void read_line(Words& words, Baseline& baseline) {
  const std::string kind = words.text();
  bool is_new = false;
  if (kind == "cases") {
    const std::string name = words.text();
    is_new = baseline.cases.emplace(name, words.text()).second;
  } else if (kind == "accuracy") {
    AccuracyKey key;
    key.kernel = words.text();
    key.variant = words.text();
    key.unit = words.text();
    const std::string types = words.text();
    const std::size_t arrow = types.find("<-");
    if (arrow == std::string::npos) words.bad(fmt::format("has '{}' in place of OUT<-PARTIAL", types));
    key.out = types.substr(0, arrow);
    key.partial = types.substr(arrow + 2);
    key.lse_regime = words.text();
    BaselineAccuracy row;
    row.elements = words.number<std::uint64_t>();
    row.correctly_rounded = words.number<std::uint64_t>();
    row.digest = words.bits();
    row.bound_use = words.worst();
    row.scaled_ulp = words.worst();
    is_new = baseline.accuracy.emplace(key, row).second;
  } else if (kind == "law") {
    LawKey key;
    key.kernel = words.text();
    key.law = words.text();
    BaselineLaw row;
    row.checked = words.number<std::uint64_t>();
    row.failed = words.number<std::uint64_t>();
    is_new = baseline.laws.emplace(key, row).second;
  } else {
    words.bad(fmt::format("begins with '{}', which is neither cases, accuracy nor law", kind));
  }
  words.end();
  if (!is_new) words.bad("repeats an earlier line");
}

}  // namespace

Baseline baseline_of(const StoredRun& run) {
  Baseline baseline;
  visit_context_fields(run.context, [&](const char* name, const auto& value) {
    if (!fixes_no_bits(name)) baseline.cases[name] = word(fmt::format("{}", value));
  });
  baseline.cases["cases"] = std::to_string(run.results.totals.cases);
  if (run.context.shard != "1/1") baseline.cases["shard"] = run.context.shard;
  for (const AccuracyLine& line : accuracy_table(run.results).regimes) {
    AccuracyKey key = line.key;
    for (std::string* field : {&key.kernel, &key.unit, &key.variant, &key.out, &key.partial, &key.lse_regime}) {
      *field = word(*field);
    }
    baseline.accuracy[key] = {line.elements, line.correctly_rounded, line.digest,
                              worst_of(line.metric(Metric::bound_use)), worst_of(line.metric(Metric::scaled_ulp))};
  }
  for (const auto& [key, row] : run.results.laws) {
    baseline.laws[{word(key.kernel), word(key.law)}] = {row.checked, row.failed};
  }
  return baseline;
}

std::string baseline_text(const Baseline& baseline) {
  std::string text = fmt::format("{}\n", kBaselineHeader);
  for (const auto& [name, value] : baseline.cases) text += fmt::format("cases {} {}\n", name, value);
  text +=
      "# accuracy: kernel variant unit types regime elements correctly_rounded digest bound_use token scaled_ulp "
      "token\n";
  for (const auto& [key, row] : baseline.accuracy) {
    text += fmt::format("accuracy {} {} {} {} {} {} {} 0x{:016x} {} {}\n", key.kernel, key.variant, key.unit,
                        key.types(), key.lse_regime, row.elements, row.correctly_rounded, row.digest,
                        text_of(row.bound_use), text_of(row.scaled_ulp));
  }
  text += "# law: kernel law checked failed\n";
  for (const auto& [key, row] : baseline.laws) {
    text += fmt::format("law {} {} {} {}\n", key.kernel, key.law, row.checked, row.failed);
  }
  return text;
}

Baseline parse_baseline(std::string_view text, const std::string& source) {
  Baseline baseline;
  const std::vector<std::string> lines = split_lines(std::string(text));
  if (lines.empty() || lines.front() != kBaselineHeader) {
    refuse(source, 1, fmt::format("is not '{}'", kBaselineHeader));
  }
  if (!text.ends_with('\n')) refuse(source, lines.size(), "has no end");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty() || lines[i].starts_with('#')) continue;
    Words words(source, i + 1, lines[i]);
    read_line(words, baseline);
  }
  return baseline;
}

}  // namespace lsecheck
