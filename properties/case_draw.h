#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/arch.h"
#include "kernels/backend.h"
#include "kernels/sfu/sfu.h"
#include "kernels/simt/schedule.h"
#include "properties/case_spec.h"

namespace lsecheck {

// What a run fixes for all of its cases.
struct DrawLimits {
  std::optional<Arch> arch = std::nullopt;  // nullopt: all chips in turn
  sfu::UnitKind unit = sfu::UnitKind::h200;
  Schedule schedule = Schedule::lockstep;
  std::vector<KernelId> kernels = {};  // empty: all that are registered
};

// Registered kernels whose name matches the shell pattern and that the backend has, in the order of KernelId.
std::vector<KernelId> kernels_matching(const std::string& glob, Backend backend = Backend::cpu);

// Case case_index of the sequence that seed starts: a pure function. Kernels take fixed turns;
// each has a sequence of its own, of which it takes the next case, so that it sees the same cases alone and among
// others. Regimes, types, depths, chips and shapes come from decks that are dealt out whole (case_draw.cpp), so any
// some tens of consecutive cases hold every class in its share. The spec passes spec_error().
CaseSpec draw_spec(std::uint64_t seed, std::uint64_t case_index, const DrawLimits& limits);

// How many of a hundred cases are that kernel's turn, rounded down.
int percent_of_turns(const DrawLimits& limits, KernelId kernel);

}  // namespace lsecheck
