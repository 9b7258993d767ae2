#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "properties/waivers.h"
#include "reports/stored_run.h"

// Which known failures a command forgives, and on which day.
namespace lsecheck::cli {

struct WaiverChoice {
  std::string file;   // empty: none are
  std::string today;  // empty: the UTC date
};

void add_waiver_options(CLI::App& command, WaiverChoice& choice);

struct Waivers {
  std::vector<Waiver> list;
  std::string today;

  bool cover(const Failure& failure) const { return is_waived(list, failure, today); }
  void judge(StoredRun& run) const;
};

// Throws CLI::ValidationError for a day, FileError for a file that cannot be read.
Waivers load_waivers(const WaiverChoice& choice);

}  // namespace lsecheck::cli
