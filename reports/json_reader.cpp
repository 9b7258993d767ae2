#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "reports/context_fields.h"
#include "reports/json_report.h"
#include "reports/store_error.h"

namespace lsecheck {
namespace {

using Json = nlohmann::ordered_json;

// Where in the file a value stands: "kernels[3].ulp". Errors are about one place.
struct Place {
  std::string source;
  std::string member;

  Place in(const std::string& name) const { return {source, member.empty() ? name : member + "." + name}; }
  Place at(std::size_t index) const { return {source, member + "[" + std::to_string(index) + "]"}; }
  [[noreturn]] void refuse(const std::string& reason) const {
    throw StoreError(StoreError::Kind::unreadable, "cannot read " + source + ": " +
                                                       (member.empty() ? "" : member + " ") + reason +
                                                       "; give a file that lsecheck wrote with --json");
  }
};

const Json& require_array(const Json& json, const Place& place) {
  if (!json.is_array()) place.refuse("is not an array");
  return json;
}

void read(const Json& json, const Place& place, std::string& value) {
  if (!json.is_string()) place.refuse("is not a string");
  value = json.get<std::string>();
}

void read(const Json& json, const Place& place, bool& value) {
  if (!json.is_boolean()) place.refuse("is neither true nor false");
  value = json.get<bool>();
}

template <typename Integer>
void read_integer(const Json& json, const Place& place, Integer& value) {
  if (!json.is_number_unsigned()) place.refuse("is not a non-negative integer");
  const auto wide = json.get<std::uint64_t>();
  if (wide > static_cast<std::uint64_t>(std::numeric_limits<Integer>::max())) place.refuse("is out of range");
  value = static_cast<Integer>(wide);
}

void read(const Json& json, const Place& place, std::uint64_t& value) {
  read_integer(json, place, value);
}
void read(const Json& json, const Place& place, std::uint32_t& value) {
  read_integer(json, place, value);
}
void read(const Json& json, const Place& place, int& value) {
  read_integer(json, place, value);
}

// A metric: "inf" or a finite number >= 0.
void read(const Json& json, const Place& place, double& value) {
  if (json == "inf") {
    value = std::numeric_limits<double>::infinity();
    return;
  }
  if (!json.is_number()) place.refuse("is neither a number nor \"inf\"");
  value = json.get<double>();
  if (!(value >= 0)) place.refuse("is negative");
}

// "0x" and exactly as many digits as the type has.
template <typename Integer>
void read_bits(const Json& json, const Place& place, Integer& value) {
  std::string text;
  read(json, place, text);
  const char* const end = text.data() + text.size();
  const bool prefixed = text.starts_with("0x") && text.size() == 2 + 2 * sizeof(Integer);
  const auto [last, error] = std::from_chars(text.data() + (prefixed ? 2 : 0), end, value, 16);
  if (!prefixed || error != std::errc{} || last != end) {
    place.refuse("is not 0x and " + std::to_string(2 * sizeof(Integer)) + " hexadecimal digits");
  }
}

// An object all of whose members must be taken, each once.
class Members {
 public:
  Members(const Json& json, Place place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) place_.refuse("is not an object");
  }

  bool has(const std::string& name) const { return json_.contains(name); }
  const Json& take(const std::string& name) {
    const auto member = json_.find(name);
    if (member == json_.end()) place_.in(name).refuse("is missing");
    taken_.insert(name);
    return *member;
  }
  template <typename Value>
  void take(const std::string& name, Value& value) {
    read(take(name), place_.in(name), value);
  }
  template <typename Integer>
  void take_bits(const std::string& name, Integer& value) {
    read_bits(take(name), place_.in(name), value);
  }
  void require_all_taken() const {
    for (const auto& member : json_.items()) {
      if (!taken_.contains(member.key())) place_.in(member.key()).refuse("is unknown");
    }
  }
  const Place& place() const { return place_; }

 private:
  const Json& json_;
  Place place_;
  std::set<std::string> taken_;
};

void read(const Json& json, const Place& place, Maximum& maximum) {
  if (json.is_null()) return;
  Members members(json, place);
  members.take("value", maximum.value);
  members.take("case_index", maximum.case_index);
  members.take("token", maximum.token);
  members.take("row_head", maximum.row_head);
  members.take("depth_index", maximum.depth_index);
  members.take_bits("got_bits", maximum.got_bits);
  members.take_bits("correctly_rounded_bits", maximum.correctly_rounded_bits);
  members.require_all_taken();
}

void read(const Json& json, const Place& place, ErrorHistogram& histogram) {
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

void read(const Json& json, const Place& place, MetricStats& metric) {
  Members members(json, place);
  members.take("largest_seen", metric.max);
  members.take("histogram", metric.histogram);
  members.require_all_taken();
}

void read(const Json& json, const Place& place, std::pair<StatKey, StatRow>& stat) {
  auto& [key, row] = stat;
  Members members(json, place);
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

void read(const Json& json, const Place& place, std::pair<LawKey, LawRow>& law) {
  auto& [key, row] = law;
  Members members(json, place);
  members.take("kernel", key.kernel);
  members.take("law", key.law);
  members.take("checked", row.checked);
  members.take("not_applicable", row.not_applicable);
  members.take("failed", row.failed);
  members.require_all_taken();
}

void read(const Json& json, const Place& place, std::pair<ChartKey, ChartRow>& chart) {
  auto& [key, row] = chart;
  Members members(json, place);
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

void read(const Json& json, const Place& place, std::pair<std::string, Replay>& entry) {
  Replay& replay = entry.second;
  Members members(json, place);
  members.take("file", replay.file);
  members.take("kernel", replay.kernel);
  members.take("law", replay.law);
  members.take("outcome", replay.outcome);
  members.take("message", replay.message);
  members.require_all_taken();
  entry.first = replay.file;
}

void read(const Json& json, const Place& place, Failure& failure) {
  Members members(json, place);
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

void read(const Json& json, const Place& place, RunContext& context, bool schema_1) {
  Members members(json, place);
  visit_context_fields(context, [&](const char* name, auto& value) {
    const char* const before = schema_1 ? value_before_schema_2(name) : nullptr;
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
      if (before != nullptr && !members.has(name)) {
        value = before;
        return;
      }
    }
    members.take(name, value);
  });
  members.require_all_taken();
}

void read(const Json& json, const Place& place, RunTotals& totals) {
  Members members(json, place);
  members.take("cases", totals.cases);
  members.take("row_heads", totals.row_heads);
  members.take("elements", totals.elements);
  members.take("failures", totals.failures);
  members.require_all_taken();
}

void read(const Json& json, const Place& place, CoverageCounts& coverage) {
  if (!json.is_object()) place.refuse("is not an object");
  for (const auto& member : json.items()) read(member.value(), place.in(member.key()), coverage[member.key()]);
}

template <typename Key, typename Row>
void read(const Json& json, const Place& place, std::map<Key, Row>& rows) {
  for (std::size_t i = 0; i < require_array(json, place).size(); ++i) {
    std::pair<Key, Row> row;
    read(json[i], place.at(i), row);
    if (!rows.insert(row).second) place.at(i).refuse("repeats an earlier row");
  }
}

void read(const Json& json, const Place& place, std::vector<Failure>& failures) {
  for (std::size_t i = 0; i < require_array(json, place).size(); ++i) {
    read(json[i], place.at(i), failures.emplace_back());
    if (i > 0 && failures[i] < failures[i - 1]) place.at(i).refuse("is out of order");
  }
}

// The parser itself keeps one of two members of the same name.
Json parse_without_repetition(std::string_view text, const Place& root) {
  std::vector<std::set<std::string>> open_objects;
  const auto watch = [&](int, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second) {
      root.in(parsed.get<std::string>()).refuse("appears twice in one object");
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    root.refuse("is not JSON at byte " + std::to_string(error.byte));
  } catch (const Json::out_of_range&) {
    root.refuse("holds a number out of range");
  }
}

}  // namespace

StoredRun parse_results(std::string_view text, const std::string& source) {
  const Place root{source, ""};
  const Json json = parse_without_repetition(text, root);
  Members members(json, root);
  std::string schema;
  members.take("schema", schema);
  const bool schema_1 = schema == kResultsSchema1;
  if (schema != kResultsSchema && !schema_1) {
    root.refuse("has schema \"" + schema + "\", this lsecheck reads \"" + kResultsSchema + "\"");
  }
  StoredRun run;
  read(members.take("context"), root.in("context"), run.context, schema_1);
  Members progress(members.take("progress"), root.in("progress"));
  progress.take("next_case_index", run.next_case_index);
  progress.take("finished", run.finished);
  progress.require_all_taken();
  members.take("summary", run.results.totals);
  members.take("kernels", run.results.stats);
  members.take("laws", run.results.laws);
  members.take("coverage", run.results.coverage);
  if (!schema_1) members.take("charts", run.results.charts);
  members.take("failures", run.results.failures);
  if (!schema_1) members.take("replays", run.results.replays);
  members.require_all_taken();
  return run;
}

}  // namespace lsecheck
