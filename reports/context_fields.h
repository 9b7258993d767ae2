#pragma once

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
}

}  // namespace lsecheck
