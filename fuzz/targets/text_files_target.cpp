#include <fmt/format.h>

#include <stdexcept>

#include "fuzz/targets/fuzz_target.h"
#include "fuzz/worst_file.h"
#include "properties/waivers.h"
#include "properties/whole_file.h"
#include "reports/baseline.h"
#include "reports/json_report.h"
#include "reports/sample_run.h"
#include "reports/store_error.h"

namespace lsecheck::fuzz {
namespace {

// What a reader accepts, its writer writes in a form that reads back to the same text.
template <class Parse, class Write>
std::optional<std::string> unstable(std::string_view text, const Parse& parse, const Write& write) {
  const std::string written = write(parse(text));
  const std::string again = write(parse(written));
  if (again == written) return std::nullopt;
  return fmt::format("reads back as another text:\n{}\n---\n{}", written, again);
}

// A refusal is one line that names the file.
std::optional<std::string> bad_refusal(std::string_view line) {
  if (line.find("input") != std::string_view::npos && line.find('\n') == std::string_view::npos) return std::nullopt;
  return fmt::format("a refusal is no clear line: {}", line);
}

FuzzOutcome run(FuzzInput input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    if (text.starts_with(kBaselineHeader)) {
      return {true, unstable(
                        text, [](std::string_view t) { return parse_baseline(t, "input"); }, baseline_text)};
    }
    if (text.starts_with("lsecheck-worst")) return {true, unstable(text, parse_worst_file, format_worst_file)};
    if (text.starts_with(kWaiversHeader)) {
      for (const Waiver& waiver : parse_waivers(text, "input")) {
        if (waiver.reason.empty() || !is_calendar_day(waiver.until)) return FuzzOutcome::fail("half a waiver was read");
      }
      return {};
    }
    if (text.starts_with("{")) {
      return {true, unstable(
                        text, [](std::string_view t) { return parse_results(t, "input"); },
                        [](const StoredRun& run) { return results_text(run); })};
    }
  } catch (const StoreError& refusal) {
    return {true, bad_refusal(refusal.what())};
  } catch (const FileError& refusal) {  // of waivers
    return {true, bad_refusal(refusal.what())};
  } catch (const std::invalid_argument&) {  // of worst files
    return {};
  }
  return FuzzOutcome::reject();
}

std::vector<std::vector<std::uint8_t>> seeds() {
  std::vector<std::vector<std::uint8_t>> all;
  const StoredRun run = sample_run(2);
  WorstFile worst;
  worst.records.push_back({HuntTarget{}, 1, 2, {}});
  WorstCase found;
  found.variant = "runtime";
  found.ov_depth = 64;
  found.value = 2.5;
  found.lse = {0.5F, -3.25F};
  found.o = {0x3f800001, 0xbf000000};
  worst.records.back().cases.push_back(found);
  const std::string waivers =
      std::string(kWaiversHeader) + "\n# why\nmla_combine accuracy narrow 2027-01-31 issue 12\n";
  for (const std::string& text :
       {waivers, results_text(run), baseline_text(baseline_of(run)), format_worst_file(worst)}) {
    all.emplace_back(text.begin(), text.end());
  }
  return all;
}

}  // namespace

const FuzzTarget kTextFilesTarget{"text_files", "results as JSON, baselines, files of worst cases, waivers", run,
                                  nullptr, seeds};

}  // namespace lsecheck::fuzz
