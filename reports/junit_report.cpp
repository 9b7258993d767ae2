#include "reports/junit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "reports/run_summary.h"

namespace lsecheck {
namespace {

// How many bytes the well-formed UTF-8 character of a foreign text takes that begins here and that XML allows; 0: there
// is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc0 || length > text.size()) return 0;
  std::uint32_t code = byte(0) & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return code < kSmallest[length] || code > 0x10ffff || is_surrogate || code == 0xfffe || code == 0xffff ? 0 : length;
}

std::string xml_characters(const std::string& text) {
  std::string valid;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(std::string_view(text).substr(i));
    valid += length == 0 ? "?" : text.substr(i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return valid;
}

// XML 1.0 has no way to write most control characters; printable() has replaced them. Line feeds in attributes would
// be read as blanks.
std::string escaped(const std::string& text, bool in_attribute) {
  std::string safe;
  for (const char c : xml_characters(printable(text))) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\n':
        safe += in_attribute ? "&#10;" : "\n";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string attribute(const std::string& text) {
  return escaped(text, true);
}

struct TestCase {
  std::string name;
  bool skipped = false;
  std::string failure;  // first line, for the list; empty: passed
  std::string details;
};

std::string suite(const std::string& name, const std::vector<TestCase>& cases) {
  const auto failures = std::count_if(cases.begin(), cases.end(), [](const TestCase& c) { return !c.failure.empty(); });
  const auto skipped = std::count_if(cases.begin(), cases.end(), [](const TestCase& c) { return c.skipped; });
  std::string text = fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
                                 attribute(name), cases.size(), failures, skipped);
  for (const TestCase& c : cases) {
    text += fmt::format("    <testcase classname=\"lsecheck.{}\" name=\"{}\"", attribute(name), attribute(c.name));
    if (!c.failure.empty()) {
      text += fmt::format(">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n", attribute(c.failure),
                          escaped(c.details, false));
    } else {
      text += c.skipped ? "><skipped/></testcase>\n" : "/>\n";
    }
  }
  return text + "  </testsuite>\n";
}

std::string details_of(const StoredRun& run, const LawKey& key) {
  std::string text;
  std::size_t shown = 0;
  std::size_t left_out = 0;
  for (const Failure& f : run.results.failures) {
    if (f.kernel != key.kernel || f.law != key.law) continue;
    if (shown == kJunitFailuresShown) {
      ++left_out;
      continue;
    }
    ++shown;
    text += fmt::format("case {}: {}\n{}\n{}\n", f.case_index, f.shape, f.message, repro_line(run.context, f.token));
    if (!f.case_file.empty()) text += repro_line(run.context, f.case_file) + "\n";
  }
  if (left_out > 0) text += fmt::format("{} more failures: the JSON results hold them\n", left_out);
  return text;
}

std::vector<TestCase> replay_cases(const StoredRun& run, const ReplayGroup& group) {
  std::vector<TestCase> cases;
  for (const Replay* replay : group.replays) {
    TestCase c{replay->file, replay->outcome == "not applicable", "", ""};
    if (counts_as_failure(*replay)) {
      c.failure = fmt::format("{}: {}", replay->outcome, split_lines(replay->message + "\n").front());
      c.details = fmt::format("{} law {}\n{}\n", replay->kernel, replay->law, replay->message);
      const std::string paste = replay_repro_line(run.context, *replay);
      if (!paste.empty()) c.details += paste + "\n";
    }
    cases.push_back(c);
  }
  return cases;
}

std::vector<TestCase> hunt_cases(const StoredRun& run) {
  std::vector<TestCase> cases;
  for (const auto& [key, row] : run.results.hunts) {
    TestCase c{hunt_name(key), row.bound_use < 0, "", ""};
    if (counts_as_failure(row)) {
      c.failure = "law accuracy: outside the bound, or the kernel fell over";
      c.details = hunt_line(run.context, key) + "\n";
    }
    cases.push_back(c);
  }
  return cases;
}

std::vector<TestCase> waiver_cases(const StoredRun& run) {
  std::vector<TestCase> cases;
  cases.reserve(run.waivers.problems.size());
  for (const std::string& problem : run.waivers.problems) cases.push_back({problem, false, problem, problem});
  return cases;
}

}  // namespace

std::string junit_report(const StoredRun& run) {
  std::map<std::string, std::vector<TestCase>> suites;
  for (const auto& [key, row] : run.results.laws) {
    TestCase c{key.law, row.checked == 0, "", ""};
    const auto waived = run.waivers.waived.find(key);
    if (row.failed > 0 && waived != run.waivers.waived.end() && waived->second >= row.failed) {
      c.skipped = true;
    } else if (row.failed > 0) {
      c.failure = fmt::format("{} of {} checks failed", row.failed, row.checked);
      c.details = details_of(run, key);
    }
    suites[key.kernel].push_back(c);
  }
  std::string text = fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"lsecheck: {}\">\n",
                                 attribute(verdict_word(run)));
  for (const auto& [kernel, cases] : suites) text += suite(kernel, cases);
  for (const ReplayGroup& group : replay_groups(run.results)) {
    text += suite("replayed " + group.name, replay_cases(run, group));
  }
  if (!run.results.hunts.empty()) text += suite("hunts", hunt_cases(run));
  if (!run.waivers.problems.empty()) text += suite("waivers", waiver_cases(run));
  return text + "</testsuites>\n";
}

}  // namespace lsecheck
