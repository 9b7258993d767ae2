#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reports/stored_run.h"

// What is kept in sight of runs that came before: the nights in a table and a plot.
namespace lsecheck {

struct NightFailure {
  std::uint64_t count = 0;
  std::string repro;  // of the first one kept
};

// A kept case that failed when it was replayed.
struct UnmendedReplay {
  std::string line;   // replay_line
  std::string repro;  // replay_repro_line
};

struct Night {
  std::string file;  // where the run is stored
  std::uint64_t seed = 0;
  std::string commit;
  std::string verdict;  // verdict_word
  bool failed = false;
  std::uint64_t cases = 0;
  std::map<std::pair<std::string, std::string>, NightFailure> failures;  // by kernel and law
  std::vector<UnmendedReplay> unmended;
  std::map<std::string, double>
      bound_use;  // the largest of each kernel with f32 output: no cast hides what the kernel did
};

Night night_of(const StoredRun& run, const std::string& file);

// "1 of 7 nights failed: seed 20261126"; empty for fewer than two nights.
std::string nights_verdict(const std::vector<Night>& nights);

}  // namespace lsecheck
