#include "reports/json_report.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "reports/context_fields.h"

namespace lsecheck {
namespace {

using Json = nlohmann::ordered_json;

Json number_of(double value) {
  return std::isinf(value) ? Json("inf") : Json(value);
}

Json json_of(const Maximum& maximum) {
  if (maximum.value < 0) return nullptr;
  return {{"value", number_of(maximum.value)},
          {"case_index", maximum.case_index},
          {"token", maximum.token},
          {"row_head", maximum.row_head},
          {"depth_index", maximum.depth_index},
          {"got_bits", fmt::format("0x{:08x}", maximum.got_bits)},
          {"correctly_rounded_bits", fmt::format("0x{:08x}", maximum.correctly_rounded_bits)}};
}

Json json_of(const MetricStats& metric) {
  Json bins = Json::array();
  for (std::size_t bin = 0; bin < metric.histogram.count.size(); ++bin) {
    if (metric.histogram.count[bin] > 0) bins.push_back(Json::array({bin, metric.histogram.count[bin]}));
  }
  return {{"largest_seen", json_of(metric.max)}, {"histogram", bins}};
}

Json json_of(const StatKey& key, const StatRow& row) {
  return {{"kernel", key.kernel},
          {"variant", key.variant},
          {"arch", key.arch},
          {"unit", key.unit},
          {"out", key.out},
          {"partial", key.partial},
          {"p_class", key.p_class},
          {"lse_regime", key.lse_regime},
          {"cases", row.cases},
          {"row_heads", row.row_heads},
          {"elements", row.elements},
          {"correctly_rounded", row.correctly_rounded},
          {"digest", fmt::format("0x{:016x}", row.digest)},
          {"ulp", json_of(row.ulp)},
          {"scaled_ulp", json_of(row.scaled_ulp)},
          {"steps", json_of(row.steps)},
          {"bound_use", json_of(row.bound_use)}};
}

Json json_of(const LawKey& key, const LawRow& row) {
  return {{"kernel", key.kernel},
          {"law", key.law},
          {"checked", row.checked},
          {"not_applicable", row.not_applicable},
          {"failed", row.failed}};
}

Json json_of(const ChartKey& key, const ChartRow& row) {
  return {{"chart", key.chart},
          {"kernel", key.kernel},
          {"unit", key.unit},
          {"out", key.out},
          {"x", key.x},
          {"y", key.y},
          {"row_heads", row.row_heads},
          {"scaled_ulp", json_of(row.scaled_ulp)},
          {"largest_bound", number_of(row.largest_bound)}};
}

Json json_of(const Replay& r) {
  return {{"file", r.file},       {"origin", r.origin},       {"kernel", r.kernel},  {"law", r.law},
          {"outcome", r.outcome}, {"case_file", r.case_file}, {"message", r.message}};
}

Json json_of(const HuntKey& key, const HuntStat& row) {
  return {{"kernel", key.kernel},
          {"out", key.out},
          {"partial", key.partial},
          {"exponent", key.exponent},
          {"arch", key.arch},
          {"lse_regime", key.lse_regime},
          {"num_partitions", key.num_partitions},
          {"evaluations", row.evaluations},
          {"bound_use", row.bound_use < 0 ? Json(nullptr) : number_of(row.bound_use)},
          {"worst", row.worst}};
}

Json json_of(const Failure& f) {
  return {{"case_index", f.case_index},   {"kernel", f.kernel},       {"law", f.law},     {"token", f.token},
          {"found_token", f.found_token}, {"case_file", f.case_file}, {"shape", f.shape}, {"message", f.message}};
}

Json json_of(const RunContext& context) {
  Json json = Json::object();
  visit_context_fields(context, [&](const char* name, const auto& value) { json[name] = value; });
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The rows of a table, in its order.
template <class Key, class Row>
std::vector<Json> rows_of(const std::map<Key, Row>& table) {
  std::vector<Json> rows;
  rows.reserve(table.size());
  for (const auto& [key, row] : table) rows.push_back(json_of(key, row));
  return rows;
}

// One element a line: a diff of two files names the rows that differ.
std::string lines_of(const std::vector<Json>& elements) {
  std::string text = "[";
  const char* separator = "\n";
  for (const Json& element : elements) {
    text += separator + text_of(element);
    separator = ",\n";
  }
  return text + (elements.empty() ? "]" : "\n]");
}

}  // namespace

std::string results_text(const StoredRun& run) {
  const RunResults& results = run.results;
  std::vector<Json> failures;
  failures.reserve(results.failures.size());
  for (const Failure& failure : results.failures) failures.push_back(json_of(failure));
  std::vector<Json> replays;
  replays.reserve(results.replays.size());
  for (const auto& [file, replay] : results.replays) replays.push_back(json_of(replay));
  Json coverage = Json::object();
  for (const auto& [name, cases] : results.coverage) coverage[name] = cases;
  const Json progress{{"next_case_index", run.next_case_index}, {"finished", run.finished}};
  const Json summary{{"cases", results.totals.cases},
                     {"row_heads", results.totals.row_heads},
                     {"elements", results.totals.elements},
                     {"failures", results.totals.failures}};
  return fmt::format(
      "{{\n\"schema\": \"{}\",\n\"context\": {},\n\"progress\": {},\n\"summary\": {},\n\"kernels\": {},\n\"laws\": "
      "{},\n"
      "\"coverage\": {},\n\"charts\": {},\n\"failures\": {},\n\"replays\": {},\n\"hunts\": {}\n}}\n",
      kResultsSchema, text_of(json_of(run.context)), text_of(progress), text_of(summary),
      lines_of(rows_of(results.stats)), lines_of(rows_of(results.laws)), text_of(coverage),
      lines_of(rows_of(results.charts)), lines_of(failures), lines_of(replays), lines_of(rows_of(results.hunts)));
}

std::string results_text(const RunContext& context, const RunResults& results) {
  return results_text(StoredRun{context, results, results.totals.cases, true});
}

}  // namespace lsecheck
