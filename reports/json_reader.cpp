#include <vector>

#include "reports/context_fields.h"
#include "reports/json_report.h"
#include "reports/strict_json.h"

namespace lsecheck {

// static and in no unnamed namespace: JsonMembers::take() finds them by the namespace of their arguments.

static void read(const Json& json, const JsonPlace& place, Maximum& maximum) {
  if (json.is_null()) return;
  JsonMembers members(json, place);
  members.take("value", maximum.value);
  members.take("case_index", maximum.case_index);
  members.take("token", maximum.token);
  members.take("row_head", maximum.row_head);
  members.take("depth_index", maximum.depth_index);
  members.take_bits("got_bits", maximum.got_bits);
  members.take_bits("correctly_rounded_bits", maximum.correctly_rounded_bits);
  members.require_all_taken();
}

static void read(const Json& json, const JsonPlace& place, ErrorHistogram& histogram) {
  std::size_t next_bin = 0;
  for (const Json& pair : require_array(json, place)) {
    if (!pair.is_array() || pair.size() != 2) place.refuse("holds something else than [bin, count] pairs");
    std::size_t bin = 0;
    read(pair[0], place, bin);
    if (bin < next_bin || bin >= histogram.count.size()) place.refuse("has bins out of order or out of range");
    read(pair[1], place, histogram.count[bin]);
    if (histogram.count[bin] == 0) place.refuse("lists an empty bin");
    next_bin = bin + 1;
  }
}

static void read(const Json& json, const JsonPlace& place, MetricStats& metric) {
  JsonMembers members(json, place);
  members.take("largest_seen", metric.max);
  members.take("histogram", metric.histogram);
  members.require_all_taken();
}

static void read(const Json& json, const JsonPlace& place, std::pair<StatKey, StatRow>& stat) {
  auto& [key, row] = stat;
  JsonMembers members(json, place);
  members.take("kernel", key.kernel);
  members.take("variant", key.variant);
  members.take("arch", key.arch);
  members.take("unit", key.unit);
  members.take("out", key.out);
  members.take("partial", key.partial);
  members.take("p_class", key.p_class);
  members.take("lse_regime", key.lse_regime);
  members.take("cases", row.cases);
  members.take("row_heads", row.row_heads);
  members.take("elements", row.elements);
  members.take("correctly_rounded", row.correctly_rounded);
  members.take_bits("digest", row.digest);
  members.take("ulp", row.ulp);
  members.take("scaled_ulp", row.scaled_ulp);
  members.take("steps", row.steps);
  members.take("bound_use", row.bound_use);
  members.require_all_taken();
}

static void read(const Json& json, const JsonPlace& place, std::pair<LawKey, LawRow>& law) {
  auto& [key, row] = law;
  JsonMembers members(json, place);
  members.take("kernel", key.kernel);
  members.take("law", key.law);
  members.take("checked", row.checked);
  members.take("not_applicable", row.not_applicable);
  members.take("failed", row.failed);
  members.require_all_taken();
}

static void read(const Json& json, const JsonPlace& place, std::pair<ChartKey, ChartRow>& chart) {
  auto& [key, row] = chart;
  JsonMembers members(json, place);
  members.take("chart", key.chart);
  members.take("kernel", key.kernel);
  members.take("unit", key.unit);
  members.take("out", key.out);
  members.take("x", key.x);
  members.take("y", key.y);
  members.take("row_heads", row.row_heads);
  members.take("scaled_ulp", row.scaled_ulp);
  members.take("largest_bound", row.largest_bound);
  members.require_all_taken();
}

static void read(const Json& json, const JsonPlace& place, std::map<std::string, Replay>& replays, int schema) {
  for (std::size_t i = 0; i < require_array(json, place).size(); ++i) {
    Replay replay;
    JsonMembers members(json[i], place.at(i));
    members.take("file", replay.file);
    members.take("kernel", replay.kernel);
    members.take("law", replay.law);
    members.take("outcome", replay.outcome);
    members.take("message", replay.message);
    replay.origin = kOldFailure;
    replay.case_file = replay.file;
    if (schema >= 3) {
      members.take("origin", replay.origin);
      members.take("case_file", replay.case_file);
    }
    members.require_all_taken();
    if (!replays.emplace(replay.file, replay).second) place.at(i).refuse("repeats an earlier row");
  }
}

static void read(const Json& json, const JsonPlace& place, std::pair<HuntKey, HuntStat>& hunt) {
  auto& [key, row] = hunt;
  JsonMembers members(json, place);
  members.take("kernel", key.kernel);
  members.take("out", key.out);
  members.take("partial", key.partial);
  members.take("exponent", key.exponent);
  members.take("arch", key.arch);
  members.take("lse_regime", key.lse_regime);
  members.take("num_partitions", key.num_partitions);
  members.take("evaluations", row.evaluations);
  const Json& bound_use = members.take("bound_use");
  if (!bound_use.is_null()) read(bound_use, place.in("bound_use"), row.bound_use);
  members.take("worst", row.worst);
  members.require_all_taken();
}

static void read(const Json& json, const JsonPlace& place, Failure& failure) {
  JsonMembers members(json, place);
  members.take("case_index", failure.case_index);
  members.take("kernel", failure.kernel);
  members.take("law", failure.law);
  members.take("token", failure.token);
  members.take("found_token", failure.found_token);
  members.take("case_file", failure.case_file);
  members.take("shape", failure.shape);
  members.take("message", failure.message);
  members.require_all_taken();
}

static void read(const Json& json, const JsonPlace& place, RunContext& context, int schema) {
  JsonMembers members(json, place);
  visit_context_fields(context, [&](const char* name, auto& value) {
    const char* const missing = value_where_missing(name, schema);
    if (missing == nullptr || members.has(name)) {
      members.take(name, value);
    } else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
      value = missing;
    } else {
      read(Json::parse(missing), place.in(name), value);
    }
  });
  members.require_all_taken();
}

static void read(const Json& json, const JsonPlace& place, RunTotals& totals) {
  JsonMembers members(json, place);
  members.take("cases", totals.cases);
  members.take("row_heads", totals.row_heads);
  members.take("elements", totals.elements);
  members.take("failures", totals.failures);
  members.require_all_taken();
}

static void read(const Json& json, const JsonPlace& place, CoverageCounts& coverage) {
  if (!json.is_object()) place.refuse("is not an object");
  for (const auto& member : json.items()) read(member.value(), place.in(member.key()), coverage[member.key()]);
}

template <typename Key, typename Row>
static void read(const Json& json, const JsonPlace& place, std::map<Key, Row>& rows) {
  for (std::size_t i = 0; i < require_array(json, place).size(); ++i) {
    std::pair<Key, Row> row;
    read(json[i], place.at(i), row);
    if (!rows.insert(row).second) place.at(i).refuse("repeats an earlier row");
  }
}

static void read(const Json& json, const JsonPlace& place, std::vector<Failure>& failures) {
  for (std::size_t i = 0; i < require_array(json, place).size(); ++i) {
    read(json[i], place.at(i), failures.emplace_back());
    if (i > 0 && failures[i] < failures[i - 1]) place.at(i).refuse("is out of order");
  }
}

// 0: no schema that is read here.
static int version_of(const std::string& schema) {
  if (schema == kResultsSchema) return 3;
  if (schema == "lsecheck.results/2") return 2;
  return schema == "lsecheck.results/1" ? 1 : 0;
}

StoredRun parse_results(std::string_view text, const std::string& source) {
  const JsonPlace root{source, "give a file that lsecheck wrote with --json", ""};
  const Json json = parse_without_repetition(text, root);
  JsonMembers members(json, root);
  std::string schema;
  members.take("schema", schema);
  const int version = version_of(schema);
  if (version == 0) {
    root.refuse("has schema \"" + schema + "\", this lsecheck reads \"" + kResultsSchema + "\"");
  }
  StoredRun run;
  read(members.take("context"), root.in("context"), run.context, version);
  JsonMembers progress(members.take("progress"), root.in("progress"));
  progress.take("next_case_index", run.next_case_index);
  progress.take("finished", run.finished);
  progress.require_all_taken();
  members.take("summary", run.results.totals);
  members.take("kernels", run.results.stats);
  members.take("laws", run.results.laws);
  members.take("coverage", run.results.coverage);
  if (version >= 2) members.take("charts", run.results.charts);
  members.take("failures", run.results.failures);
  if (version >= 2) read(members.take("replays"), root.in("replays"), run.results.replays, version);
  if (version >= 3) members.take("hunts", run.results.hunts);
  members.require_all_taken();
  return run;
}

}  // namespace lsecheck
