#pragma once

#include <cstdint>
#include <optional>

#include "kernels/arch.h"
#include "kernels/sfu/sfu.h"
#include "kernels/simt/schedule.h"
#include "properties/case_spec.h"

namespace lsecheck {

// What a run fixes for all of its cases.
struct DrawLimits {
  std::optional<Arch> arch = std::nullopt;  // nullopt: all chips in turn
  sfu::UnitKind unit = sfu::UnitKind::h200;
  Schedule schedule = Schedule::lockstep;
};

// Case case_index of the sequence that seed starts: a pure function. Regimes, types, depths, chips and shapes come from
// decks that are dealt out whole (case_draw.cpp), so any some tens of consecutive cases hold every class in its share.
// The spec passes spec_error().
CaseSpec draw_spec(std::uint64_t seed, std::uint64_t case_index, const DrawLimits& limits);

}  // namespace lsecheck
