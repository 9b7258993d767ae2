#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/case_limits.h"
#include "properties/plugin/lsecheck_plugin.h"
#include "properties/recorded_error_model.h"

// What a plugin says of itself, checked and in this program's terms.
namespace lsecheck {

// What cases, their classes and the charts of a run are made for.
inline constexpr int kPluginPMax = 160;
// A row of 160 partitions stays within some MiB.
inline constexpr int kPluginMaxDepth = 4096;
// As many cards as a deck may have (case_draw.cpp).
inline constexpr int kPluginMaxDepths = 32;

// In rising order: each promises what those before it do.
enum class PluginBits : std::uint8_t { may_differ, same_launch, same_row };

struct PluginDescription {
  std::string name;
  ErrorModel model;  // without the output types
  bool all_empty_is_nan = false;
  bool drops_garbage = false;
  PluginBits bits = PluginBits::may_differ;
  int min_partitions = 1;
  int max_partitions = kPluginPMax;  // of cases: not above kPluginPMax
  std::vector<int> depths;           // ascending, each once
  std::vector<TypePair> types;
};

// Throws std::invalid_argument with a line that names the field and what it may hold. nullptr is refused like any
// other.
PluginDescription describe_plugin(const lsecheck_plugin* plugin);

// The number of a type in lsecheck_plugin.h.
std::uint32_t plugin_type(DType type);

}  // namespace lsecheck
