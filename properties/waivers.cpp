#include "properties/waivers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <variant>

#include "kernels/registry.h"
#include "properties/laws.h"
#include "properties/token.h"
#include "properties/whole_file.h"

namespace lsecheck {
namespace {

constexpr std::string_view kBlanks = " \t\r";

// The next word of the line, which loses it.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

bool is_regime(std::string_view name) {
  for (int i = 0; i < kLseRegimeCount; ++i) {
    if (name_of(static_cast<LseRegime>(i)) == name) return true;
  }
  return false;
}

bool covers(const Waiver& waiver, const Failure& failure) {
  return waiver.kernel == failure.kernel && waiver.law == failure.law && waiver.regime == regime_of(failure);
}

bool same_failure(const Waiver& a, const Waiver& b) {
  return a.kernel == b.kernel && a.law == b.law && a.regime == b.regime;
}

// What is wrong with the waiver; empty: nothing.
std::string fault_of(const Waiver& waiver) {
  if (find_kernel(waiver.kernel) == nullptr) {
    return fmt::format("no kernel is named '{}'; lsecheck list kernels names them", waiver.kernel);
  }
  if (find_law(waiver.law) == nullptr) {
    return fmt::format("no law is named '{}'; lsecheck list laws names them", waiver.law);
  }
  if (!is_regime(waiver.regime)) {
    return fmt::format("no LSE regime is named '{}'; lsecheck list regimes names them", waiver.regime);
  }
  if (!is_calendar_day(waiver.until)) {
    return fmt::format("'{}' is no day of the calendar; write YYYY-MM-DD", waiver.until);
  }
  return waiver.reason.empty() ? "a reason must follow the day" : "";
}

bool law_was_held(const Waiver& waiver, const RunResults& results) {
  const auto law = results.laws.find({waiver.kernel, waiver.law});
  return law != results.laws.end() && law->second.checked > 0 &&
         results.coverage.contains(waiver.kernel + " lse:" + waiver.regime);
}

}  // namespace

bool is_calendar_day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  std::array<int, 3> fields{};
  const std::array<std::string_view, 3> parts{text.substr(0, 4), text.substr(5, 2), text.substr(8, 2)};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!std::all_of(parts[i].begin(), parts[i].end(), [](char c) { return c >= '0' && c <= '9'; })) return false;
    std::from_chars(parts[i].data(), parts[i].data() + parts[i].size(), fields[i]);
  }
  return std::chrono::year_month_day{std::chrono::year{fields[0]}, std::chrono::month{static_cast<unsigned>(fields[1])},
                                     std::chrono::day{static_cast<unsigned>(fields[2])}}
      .ok();
}

std::vector<Waiver> parse_waivers(std::string_view text, const std::string& source) {
  const auto refuse = [&](const std::string& place, const std::string& why) {
    throw FileError(FileErrorKind::unreadable, place, why);
  };
  std::vector<Waiver> waivers;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string place = fmt::format("{} line {}", source, number);
    if (number == 1) {
      if (line != kWaiversHeader) refuse(place, fmt::format("is not '{}'", kWaiversHeader));
      continue;
    }
    Waiver waiver{place, std::string(next_word(line)), "", "", "", ""};
    if (waiver.kernel.empty() || waiver.kernel.front() == '#') continue;
    waiver.law = next_word(line);
    waiver.regime = next_word(line);
    waiver.until = next_word(line);
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    waiver.reason = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    if (const std::string fault = fault_of(waiver); !fault.empty()) refuse(place, fault);
    const auto twin = std::find_if(waivers.begin(), waivers.end(),
                                   [&](const Waiver& earlier) { return same_failure(earlier, waiver); });
    if (twin != waivers.end()) refuse(place, fmt::format("waives the same as {}; keep one of them", twin->place));
    waivers.push_back(std::move(waiver));
  }
  return waivers;
}

std::string regime_of(const Failure& failure) {
  const ParsedToken parsed = parse_token(failure.found_token);
  if (const auto* token = std::get_if<Token>(&parsed)) return std::string(name_of(token->spec.lse));
  // A replayed case has a file and no token; its shape names the regime.
  constexpr std::string_view kMark = " lse:";
  const std::size_t at = failure.shape.find(kMark);
  if (at == std::string::npos) return "";
  const std::string rest = failure.shape.substr(at + kMark.size());
  return rest.substr(0, rest.find(' '));
}

bool is_waived(std::span<const Waiver> waivers, const Failure& failure, std::string_view today) {
  return std::any_of(waivers.begin(), waivers.end(),
                     [&](const Waiver& waiver) { return today <= waiver.until && covers(waiver, failure); });
}

std::uint64_t WaiverJudgement::waived_failures() const {
  std::uint64_t sum = 0;
  for (const auto& [key, failures] : waived) sum += failures;
  return sum;
}

WaiverJudgement judge_waivers(std::span<const Waiver> waivers, const RunResults& results, std::string_view today,
                              bool whole_sequence) {
  WaiverJudgement judgement;
  for (const Failure& failure : results.failures) {
    if (is_waived(waivers, failure, today)) ++judgement.waived[{failure.kernel, failure.law}];
  }
  for (const Waiver& waiver : waivers) {
    const std::string what = fmt::format("{}: {} {} {}", waiver.place, waiver.kernel, waiver.law, waiver.regime);
    if (today > waiver.until) {
      judgement.problems.push_back(fmt::format("{}: held until {}; mend the failure or give a later day ({})", what,
                                               waiver.until, waiver.reason));
      continue;
    }
    const bool fails = std::any_of(results.failures.begin(), results.failures.end(),
                                   [&](const Failure& failure) { return covers(waiver, failure); });
    if (!fails && whole_sequence && law_was_held(waiver, results)) {
      judgement.problems.push_back(fmt::format("{}: fails no more; remove the line ({})", what, waiver.reason));
    }
  }
  return judgement;
}

}  // namespace lsecheck
