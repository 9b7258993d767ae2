#include "reports/merge_shards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "properties/shard.h"
#include "reports/context_fields.h"
#include "reports/read_run.h"
#include "reports/result_store.h"
#include "reports/store_error.h"

namespace lsecheck {
namespace {

constexpr std::size_t kMissingNamed = 8;

[[noreturn]] void refuse(const std::string& reason) {
  throw StoreError(StoreError::Kind::unreadable, "cannot merge: " + reason);
}

Shard shard_of(const NamedRun& named) {
  const auto shard = parse_shard(named.run.context.shard);
  if (!shard) refuse(fmt::format("{} names its shard '{}', which is not i/n", named.name, named.run.context.shard));
  return *shard;
}

// But for which shard it is, every run must be of the same sequence.
void require_one_sequence(const NamedRun& first, const NamedRun& other) {
  RunContext context = other.run.context;
  if (shard_of(other).count == shard_of(first).count) context.shard = first.run.context.shard;
  if (const auto difference = first_difference(first.run.context, context)) {
    refuse(fmt::format("{} has {} '{}', {} has '{}'; merge shards of one run, made with the same options and build",
                       first.name, difference->field, difference->one, other.name, difference->other));
  }
}

// The files by shard, each there once.
std::vector<const NamedRun*> by_shard(const std::vector<NamedRun>& shards) {
  std::vector<const NamedRun*> places(shard_of(shards.front()).count, nullptr);
  for (const NamedRun& named : shards) {
    require_one_sequence(shards.front(), named);
    const NamedRun*& place = places[shard_of(named).index];
    if (place != nullptr) {
      refuse(fmt::format("{} and {} are both shard {}; give each shard once", place->name, named.name,
                         named.run.context.shard));
    }
    place = &named;
  }
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] != nullptr) continue;
    missing.push_back(format_shard({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(places.size())}));
  }
  if (missing.empty()) return places;
  const std::size_t more = missing.size() - std::min(missing.size(), kMissingNamed);
  missing.resize(missing.size() - more);
  refuse(fmt::format("missing: shard {}{}; give the files of all {} shards", fmt::join(missing, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "", places.size()));
}

}  // namespace

StoredRun merge_shards(const std::vector<NamedRun>& shards) {
  if (shards.empty()) refuse("no shards; give the files of all of them");
  StoredRun merged;
  merged.context = shards.front().run.context;
  merged.context.shard = format_shard({});
  merged.next_case_index = merged.context.cases_requested;
  merged.finished = true;
  for (const NamedRun* shard : by_shard(shards)) {
    merged.results.merge(shard->run.results);
    if (shard->run.finished) continue;
    merged.finished = false;
    merged.next_case_index = std::min(merged.next_case_index, shard->run.next_case_index);
  }
  return merged;
}

StoredRun merge_shards_into(const std::string& into, const std::vector<std::string>& files) {
  std::vector<NamedRun> shards;
  shards.reserve(files.size());
  for (const std::string& file : files) shards.push_back({file, read_run(file)});
  StoredRun merged = merge_shards(shards);
  ResultStore store = ResultStore::create(into, merged.context);
  store.commit(merged.results, merged.next_case_index);
  if (merged.finished) store.finish();
  return merged;
}

}  // namespace lsecheck
