#pragma once

#include <cstdint>
#include <string_view>

namespace lsecheck {

// The order in which the executor runs a block's threads between two collectives: ascending, or another order each
// time. A kernel whose result depends on it has a race.
enum class Schedule : std::uint8_t { lockstep = 0, random = 1 };

constexpr std::string_view name_of(Schedule schedule) {
  return schedule == Schedule::lockstep ? "lockstep" : "random";
}

}  // namespace lsecheck
