#include "properties/plugin/plugin_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace lsecheck {
namespace {

template <typename Value>
struct Choice {
  std::uint32_t number;
  std::string_view name;  // in lsecheck_plugin.h
  Value value;
};

constexpr Choice<DType> kTypes[] = {
    {LSECHECK_BF16, "BF16", DType::bf16}, {LSECHECK_F16, "F16", DType::f16}, {LSECHECK_F32, "F32", DType::f32}};
constexpr Choice<ExponentBase> kLses[] = {{LSECHECK_LSE_LOG2, "LSE_LOG2", ExponentBase::log2},
                                          {LSECHECK_LSE_NATURAL, "LSE_NATURAL", ExponentBase::natural}};
constexpr Choice<CombineClass> kClasses[] = {{LSECHECK_FLAT, "FLAT", CombineClass::flat},
                                             {LSECHECK_ONLINE, "ONLINE", CombineClass::online},
                                             {LSECHECK_PAIRWISE, "PAIRWISE", CombineClass::pairwise}};
constexpr Choice<bool> kAllEmpty[] = {{LSECHECK_ZEROS, "ZEROS", false}, {LSECHECK_NAN, "NAN", true}};
constexpr Choice<bool> kDropsGarbage[] = {{LSECHECK_GARBAGE_ANYTHING, "GARBAGE_ANYTHING", true},
                                          {LSECHECK_GARBAGE_FINITE, "GARBAGE_FINITE", false}};
constexpr Choice<PluginBits> kBits[] = {{LSECHECK_BITS_MAY_DIFFER, "BITS_MAY_DIFFER", PluginBits::may_differ},
                                        {LSECHECK_BITS_SAME_LAUNCH, "BITS_SAME_LAUNCH", PluginBits::same_launch},
                                        {LSECHECK_BITS_SAME_ROW, "BITS_SAME_ROW", PluginBits::same_row}};

[[noreturn]] void refuse(const std::string& line) {
  throw std::invalid_argument(line);
}

template <typename Value, std::size_t n>
Value chosen(std::string_view field, std::uint32_t number, const Choice<Value> (&choices)[n]) {
  std::string names;
  for (const Choice<Value>& choice : choices) {
    if (choice.number == number) return choice.value;
    names += fmt::format("{}LSECHECK_{}", names.empty() ? "" : " or ", choice.name);
  }
  refuse(fmt::format("{} is {}; use {}", field, number, names));
}

std::string checked_name(const char* name) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+:";
  constexpr std::size_t kLongest = 64;
  const std::string_view text(name == nullptr ? "" : name, name == nullptr ? 0 : ::strnlen(name, kLongest + 1));
  if (text.empty() || text.size() > kLongest || text.find_first_not_of(kCharacters) != std::string_view::npos) {
    refuse("name is missing, longer than 64 characters or holds others than letters, digits and _ - . + :");
  }
  return std::string(text);
}

void read_partitions(const lsecheck_plugin& plugin, PluginDescription& description) {
  const std::uint32_t smallest = plugin.min_num_partitions;
  const std::uint32_t largest = plugin.max_num_partitions;
  if (smallest < 1 || smallest > static_cast<std::uint32_t>(kPluginPMax)) {
    refuse(fmt::format("min_num_partitions is {}; cases have 1 to {}", smallest, kPluginPMax));
  }
  if (largest < std::max(smallest, 2U)) {
    refuse(fmt::format("max_num_partitions is {}; it must be at least 2 and at least min_num_partitions, {}", largest,
                       smallest));
  }
  description.min_partitions = static_cast<int>(smallest);
  description.max_partitions = static_cast<int>(std::min(largest, static_cast<std::uint32_t>(kPluginPMax)));
}

void read_depths(const lsecheck_plugin& plugin, PluginDescription& description) {
  constexpr std::size_t kMost = kPluginMaxDepths;
  if (plugin.depths == nullptr || plugin.num_depths < 1 || plugin.num_depths > kMost) {
    refuse(fmt::format("depths holds {} ov_depths; it must hold 1 to {}",
                       plugin.depths == nullptr ? 0 : plugin.num_depths, kMost));
  }
  for (const std::uint32_t depth : std::span(plugin.depths, plugin.num_depths)) {
    if (depth < 1 || depth > static_cast<std::uint32_t>(kPluginMaxDepth)) {
      refuse(fmt::format("depths holds {}; an ov_depth is 1 to {}", depth, kPluginMaxDepth));
    }
    description.depths.push_back(static_cast<int>(depth));
  }
  auto& depths = description.depths;
  std::sort(depths.begin(), depths.end());
  depths.erase(std::unique(depths.begin(), depths.end()), depths.end());
}

void read_types(const lsecheck_plugin& plugin, PluginDescription& description) {
  constexpr std::size_t kMost = std::size(kTypes) * std::size(kTypes);
  if (plugin.types == nullptr || plugin.num_types < 1 || plugin.num_types > kMost) {
    refuse(fmt::format("types holds {} pairs; it must hold 1 to {}", plugin.types == nullptr ? 0 : plugin.num_types,
                       kMost));
  }
  for (const lsecheck_type_pair& pair : std::span(plugin.types, plugin.num_types)) {
    description.types.push_back(
        {chosen("the out of types", pair.out, kTypes), chosen("the partial of types", pair.partial, kTypes)});
  }
}

}  // namespace

PluginDescription describe_plugin(const lsecheck_plugin* plugin) {
  if (plugin == nullptr) refuse("lsecheck_plugin_v1() returned a null pointer");
  // Another version may have other fields behind these two.
  if (plugin->abi != LSECHECK_PLUGIN_ABI) {
    refuse(fmt::format("abi is {}, this program knows {}; build it with this program's lsecheck_plugin.h", plugin->abi,
                       LSECHECK_PLUGIN_ABI));
  }
  if (plugin->size != sizeof(lsecheck_plugin)) {
    refuse(fmt::format("size is {}, not {}; set it to sizeof(struct lsecheck_plugin)", plugin->size,
                       sizeof(lsecheck_plugin)));
  }
  PluginDescription description;
  description.name = checked_name(plugin->name);
  description.model.base = chosen("lse", plugin->lse, kLses);
  description.model.combine = chosen("combine_class", plugin->combine_class, kClasses);
  description.model.intermediate = chosen("intermediate_type", plugin->intermediate_type, kTypes);
  description.all_empty_is_nan = chosen("all_empty_row", plugin->all_empty_row, kAllEmpty);
  description.drops_garbage = chosen("garbage", plugin->garbage, kDropsGarbage);
  description.bits = chosen("bits", plugin->bits, kBits);
  read_partitions(*plugin, description);
  read_depths(*plugin, description);
  read_types(*plugin, description);
  if (plugin->combine == nullptr) refuse("combine is a null pointer");
  return description;
}

std::uint32_t plugin_type(DType type) {
  return std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& one) { return one.value == type; })->number;
}

}  // namespace lsecheck
