#include "reports/store_tables.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <stdexcept>

#include "reports/context_fields.h"

namespace lsecheck {
namespace {

constexpr std::size_t kHistogramBytes = ErrorHistogram::kBins * sizeof(std::uint64_t);

// Takes a row's cells one after another.
class CellReader {
 public:
  explicit CellReader(const Row& row) : row_(row) {}

  std::uint64_t integer() { return std::get<std::uint64_t>(next()); }
  double real() { return std::get<double>(next()); }
  const std::string& text() { return std::get<std::string>(next()); }
  const std::string& blob() { return std::get<Blob>(next()).bytes; }
  std::uint32_t integer32() {
    const std::uint64_t value = integer();
    if (value > 0xffffffffu) throw std::invalid_argument("a 32-bit value is out of range");
    return static_cast<std::uint32_t>(value);
  }

 private:
  const Cell& next() { return row_.at(index_++); }

  const Row& row_;
  std::size_t index_ = 0;
};

Blob bytes_of(const ErrorHistogram& histogram) {
  Blob blob;
  blob.bytes.reserve(kHistogramBytes);
  for (const std::uint64_t count : histogram.count) {
    for (int shift = 0; shift < 64; shift += 8) blob.bytes.push_back(static_cast<char>(count >> shift & 0xff));
  }
  return blob;
}

ErrorHistogram histogram_of(const std::string& bytes) {
  if (bytes.size() != kHistogramBytes) throw std::invalid_argument("a histogram has another size");
  ErrorHistogram histogram;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    histogram.count[i / 8] |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (i % 8 * 8);
  }
  return histogram;
}

void append(Row& row, const Maximum& max) {
  row.insert(row.end(), {max.value, max.case_index, max.token, max.row_head, std::uint64_t{max.depth_index},
                         std::uint64_t{max.got_bits}, std::uint64_t{max.correctly_rounded_bits}});
}

void append(Row& row, const MetricStats& metric) {
  append(row, metric.max);
  row.push_back(bytes_of(metric.histogram));
}

Maximum maximum_of(CellReader& cells) {
  Maximum max;
  max.value = cells.real();
  max.case_index = cells.integer();
  max.token = cells.text();
  max.row_head = cells.integer();
  max.depth_index = cells.integer32();
  max.got_bits = cells.integer32();
  max.correctly_rounded_bits = cells.integer32();
  return max;
}

MetricStats metric_of(CellReader& cells) {
  MetricStats metric;
  metric.max = maximum_of(cells);
  metric.histogram = histogram_of(cells.blob());
  return metric;
}

std::string as_text(const std::string& value) {
  return value;
}
template <typename Integer>
std::string as_text(Integer value) {
  return std::to_string(value);
}

void from_text(const std::string& text, std::string& value) {
  value = text;
}
template <typename Integer>
void from_text(const std::string& text, Integer& value) {
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || last != end) throw std::invalid_argument("a context number is '" + text + "'");
}

}  // namespace

std::vector<Row> rows_of(const RunContext& context) {
  std::vector<Row> rows;
  visit_context_fields(context, [&](const char* name, const auto& value) {
    rows.push_back({std::string(name), as_text(value)});
  });
  return rows;
}

RunContext context_of(const std::vector<Row>& rows, int schema) {
  std::map<std::string, std::string> values;
  for (const Row& row : rows) values[std::get<std::string>(row[0])] = std::get<std::string>(row[1]);
  RunContext context;
  visit_context_fields(context, [&](const char* name, auto& value) {
    const auto found = values.find(name);
    const char* const before = value_where_missing(name, schema);
    if (found == values.end() && before != nullptr) return from_text(before, value);
    if (found == values.end()) throw std::invalid_argument(fmt::format("the context has no {}", name));
    from_text(found->second, value);
    values.erase(found);
  });
  if (!values.empty()) throw std::invalid_argument("the context has an unknown field " + values.begin()->first);
  return context;
}

Row row_of(const Progress& p) {
  return {std::uint64_t{1},   p.next_case_index, std::uint64_t{p.finished}, p.totals.cases,
          p.totals.row_heads, p.totals.elements, p.totals.failures,         p.content_digest};
}

Progress progress_of(const Row& row) {
  CellReader cells(row);
  Progress p;
  if (cells.integer() != 1) throw std::invalid_argument("the progress row has another id");
  p.next_case_index = cells.integer();
  p.finished = cells.integer() != 0;
  p.totals.cases = cells.integer();
  p.totals.row_heads = cells.integer();
  p.totals.elements = cells.integer();
  p.totals.failures = cells.integer();
  p.content_digest = cells.integer();
  return p;
}

Row row_of(const StatKey& key, const StatRow& stat) {
  Row row{key.kernel,  key.variant,    key.arch,   key.unit,       key.out,       key.partial,
          key.p_class, key.lse_regime, stat.cases, stat.row_heads, stat.elements, stat.correctly_rounded,
          stat.digest};
  append(row, stat.ulp);
  append(row, stat.scaled_ulp);
  append(row, stat.steps);
  append(row, stat.bound_use);
  return row;
}

std::pair<StatKey, StatRow> stat_of(const Row& row) {
  CellReader cells(row);
  StatKey key;
  for (std::string* field :
       {&key.kernel, &key.variant, &key.arch, &key.unit, &key.out, &key.partial, &key.p_class, &key.lse_regime}) {
    *field = cells.text();
  }
  StatRow stat;
  for (std::uint64_t* count : {&stat.cases, &stat.row_heads, &stat.elements, &stat.correctly_rounded, &stat.digest}) {
    *count = cells.integer();
  }
  for (MetricStats* metric : {&stat.ulp, &stat.scaled_ulp, &stat.steps, &stat.bound_use}) *metric = metric_of(cells);
  return {key, stat};
}

Row row_of(const LawKey& key, const LawRow& law) {
  return {key.kernel, key.law, law.checked, law.not_applicable, law.failed};
}

std::pair<LawKey, LawRow> law_of(const Row& row) {
  CellReader cells(row);
  LawKey key;
  key.kernel = cells.text();
  key.law = cells.text();
  LawRow law;
  law.checked = cells.integer();
  law.not_applicable = cells.integer();
  law.failed = cells.integer();
  return {key, law};
}

Row row_of(const std::string& coverage_class, std::uint64_t cases) {
  return {coverage_class, cases};
}

std::pair<std::string, std::uint64_t> coverage_of(const Row& row) {
  CellReader cells(row);
  std::string coverage_class = cells.text();
  return {std::move(coverage_class), cells.integer()};
}

Row row_of(const ChartKey& key, const ChartRow& chart) {
  Row row{key.chart, key.kernel, key.unit, key.out, std::uint64_t{key.x}, std::uint64_t{key.y}, chart.row_heads};
  append(row, chart.scaled_ulp);
  row.emplace_back(chart.largest_bound);
  return row;
}

std::pair<ChartKey, ChartRow> chart_of(const Row& row) {
  CellReader cells(row);
  ChartKey key;
  for (std::string* field : {&key.chart, &key.kernel, &key.unit, &key.out}) *field = cells.text();
  key.x = cells.integer32();
  key.y = cells.integer32();
  ChartRow chart;
  chart.row_heads = cells.integer();
  chart.scaled_ulp = maximum_of(cells);
  chart.largest_bound = cells.real();
  return {key, chart};
}

Row row_of(const Replay& r) {
  return {r.file, r.kernel, r.law, r.outcome, r.message, r.origin, r.case_file};
}

Replay replay_of(const Row& row, int schema) {
  CellReader cells(row);
  Replay r;
  for (std::string* field : {&r.file, &r.kernel, &r.law, &r.outcome, &r.message}) *field = cells.text();
  r.origin = schema < 3 ? kOldFailure : cells.text();
  r.case_file = schema < 3 ? r.file : cells.text();
  return r;
}

Row row_of(const HuntKey& key, const HuntStat& hunt) {
  return {key.kernel,
          key.out,
          key.partial,
          key.exponent,
          key.arch,
          key.lse_regime,
          std::uint64_t{key.num_partitions},
          hunt.evaluations,
          hunt.bound_use,
          hunt.worst};
}

std::pair<HuntKey, HuntStat> hunt_of(const Row& row) {
  CellReader cells(row);
  HuntKey key;
  for (std::string* field : {&key.kernel, &key.out, &key.partial, &key.exponent, &key.arch, &key.lse_regime}) {
    *field = cells.text();
  }
  key.num_partitions = cells.integer32();
  HuntStat hunt;
  hunt.evaluations = cells.integer();
  hunt.bound_use = cells.real();
  hunt.worst = cells.text();
  return {key, hunt};
}

Row row_of(const Failure& f) {
  return {f.case_index, f.kernel, f.law, f.token, f.found_token, f.case_file, f.shape, f.message};
}

Failure failure_of(const Row& row) {
  CellReader cells(row);
  Failure f;
  f.case_index = cells.integer();
  for (std::string* field : {&f.kernel, &f.law, &f.token, &f.found_token, &f.case_file, &f.shape, &f.message}) {
    *field = cells.text();
  }
  return f;
}

std::uint64_t row_digest(const Table& table, const Row& row) {
  std::uint64_t digest = 0xcbf29ce484222325u;
  const auto add_bytes = [&](std::string_view bytes) {
    for (const char c : bytes) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  };
  const auto add_integer = [&](std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      digest = (digest ^ (value >> shift & 0xff)) * 0x100000001b3u;
    }
  };
  const auto add_text = [&](std::string_view text) {
    add_integer(text.size());
    add_bytes(text);
  };
  add_text(table.name);
  for (const Cell& cell : row) {
    add_integer(cell.index());
    if (const auto* integer = std::get_if<std::uint64_t>(&cell)) {
      add_integer(*integer);
    } else if (const auto* real = std::get_if<double>(&cell)) {
      add_integer(std::bit_cast<std::uint64_t>(*real));
    } else if (const auto* text = std::get_if<std::string>(&cell)) {
      add_text(*text);
    } else {
      add_text(std::get<Blob>(cell).bytes);
    }
  }
  return digest;
}

Row read_row(const Statement& statement, const Table& table) {
  Row row;
  row.reserve(table.columns.size());
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    row.push_back(statement.column(static_cast<int>(i), table.columns[i].type));
  }
  return row;
}

}  // namespace lsecheck
