#include "cli/waiver_choice.h"

#include <fmt/format.h>

#include "cli/quantities.h"
#include "properties/whole_file.h"

namespace lsecheck::cli {

void add_waiver_options(CLI::App& command, WaiverChoice& choice) {
  command
      .add_option("--waivers", choice.file,
                  "known failures, a line 'KERNEL LAW REGIME UNTIL REASON' each under 'lsecheck waivers 1': they do "
                  "not fail the run, but a waiver past its day, or whose failure is gone, does")
      ->type_name("FILE");
  command.add_option("--today", choice.today, "the day on which waivers must hold (default: the UTC date)")
      ->type_name("YYYY-MM-DD");
}

void Waivers::judge(StoredRun& run) const {
  run.waivers = judge_waivers(list, run.results, today, run.finished && run.context.shard == "1/1");
}

Waivers load_waivers(const WaiverChoice& choice) {
  Waivers waivers;
  waivers.today = choice.today.empty() ? today_in_utc() : choice.today;
  if (!is_calendar_day(waivers.today)) {
    throw CLI::ValidationError("--today", fmt::format("'{}' is no day; write YYYY-MM-DD", choice.today));
  }
  if (!choice.file.empty()) waivers.list = parse_waivers(read_whole_text(choice.file), choice.file);
  return waivers;
}

}  // namespace lsecheck::cli
