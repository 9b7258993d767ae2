#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "properties/results.h"

namespace lsecheck {

// Calls visit(name, field) for every field of a context, in the order in which it is stored and printed. The fields are
// std::string, int or std::uint64_t. One list, so that the store, the JSON and the comparison of contexts cannot drift
// apart.
template <typename Context, typename Visit>
void visit_context_fields(Context& context, Visit visit) {
  visit("version", context.version);
  visit("commit", context.commit);
  visit("compiler", context.compiler);
  visit("flags", context.flags);
  visit("generator_version", context.generator_version);
  visit("sfu_table_digest", context.sfu_table_digest);
  visit("profile", context.profile);
  visit("backend", context.backend);
  visit("arch", context.arch);
  visit("unit", context.unit);
  visit("schedule", context.schedule);
  visit("reference", context.reference);
  visit("kernel_glob", context.kernel_glob);
  visit("law_glob", context.law_glob);
  visit("seed", context.seed);
  visit("cases_requested", context.cases_requested);
  visit("hunt_evaluations", context.hunt_evaluations);
  visit("shard", context.shard);
}

// The first field, in the order above, whose values differ, and the two values as text.
struct ContextDifference {
  std::string field;
  std::string one;
  std::string other;
};
std::optional<ContextDifference> first_difference(const RunContext& one, const RunContext& other);

// The value of a field that results of the schema may lack; nullptr: they have it. Some of schema 1 name no reference:
// those were written when the exact one was the only one.
inline const char* value_where_missing(std::string_view field, int schema) {
  if (schema < 3 && field == "hunt_evaluations") return "0";
  if (schema < 2 && field == "reference") return "exact";
  return schema < 2 && field == "shard" ? "1/1" : nullptr;
}

}  // namespace lsecheck
