#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/arch.h"
#include "properties/case_spec.h"
#include "reference/float_format.h"

// What a run produces. Everything merges: counts and histograms add, maxima keep the larger value and, at equal value,
// the smaller case index; so any batch size, number of jobs, resume point or shard split gives the same totals.
namespace lsecheck {

// Log2-spaced: bin 0 holds exact zeros, bin b >= 1 values in (2^((b-1)/2 - 16), 2^(b/2 - 16)]; the ends collect the
// rest.
struct ErrorHistogram {
  static constexpr int kBins = 80;
  std::array<std::uint64_t, kBins> count{};

  static int bin_of(double value);
  static double upper_edge(int bin);
  void add(double value) { ++count[static_cast<std::size_t>(bin_of(value))]; }
  void merge(const ErrorHistogram& other);
};

// The largest value seen and where: enough to replay it and to name the element.
struct Maximum {
  double value = -1;  // -1: nothing seen
  std::uint64_t case_index = 0;
  std::string token;
  std::uint64_t row_head = 0;
  std::uint32_t depth_index = 0;
  std::uint32_t got_bits = 0;
  std::uint32_t correctly_rounded_bits = 0;

  void merge(const Maximum& other);
};

struct MetricStats {
  ErrorHistogram histogram;
  Maximum max;

  void merge(const MetricStats& other);
};

// One line of the accuracy table.
struct StatKey {
  std::string kernel;   // "fa4_splitk_combine"
  std::string variant;  // "rung" or "runtime"
  std::string arch;
  std::string unit;  // "h200" or "spec"
  std::string out;
  std::string partial;
  std::string p_class;  // "1", "2-16", "17-32", "33-64", "65-160"
  std::string lse_regime;

  auto operator<=>(const StatKey&) const = default;
};

struct StatRow {
  std::uint64_t cases = 0;
  std::uint64_t row_heads = 0;
  std::uint64_t elements = 0;           // graded output elements
  std::uint64_t correctly_rounded = 0;  // of those, equal to the exact value rounded to nearest even
  MetricStats ulp, scaled_ulp, steps, bound_use;
  std::uint64_t digest = 0;  // sum mod 2^64 of a hash of every output element: order-free

  void merge(const StatRow& other);
};

struct LawKey {
  std::string kernel;
  std::string law;

  auto operator<=>(const LawKey&) const = default;
};

struct LawRow {
  std::uint64_t checked = 0;         // the law was evaluated
  std::uint64_t not_applicable = 0;  // drawn for this case, but its premise does not hold there
  std::uint64_t failed = 0;

  void merge(const LawRow& other);
};

struct Failure {
  std::uint64_t case_index = 0;
  std::string kernel;
  std::string law;
  std::string token;        // of the shrunk spec
  std::string found_token;  // of the case as it was drawn
  std::string case_file;    // shrunk tensors, .safetensors; empty when it could not be written
  std::string shape;        // "P=33 rows=1 heads=1 D=64 bf16<-bf16 narrow/normal/none"
  std::string message;      // bits, exact value, rounded value, ulp: one fact a line

  auto operator<=>(const Failure&) const = default;
};

// A cell of the charts of a run, over the graded row-heads that fall into it (chart_bins.h).
struct ChartKey {
  std::string chart;  // "spread": x is the bin of P, y of max - min of the exponents read; "magnitude": x is the bin of
                      // abs(max) of the exponents read, y is 0, of row-heads whose spread is at most 100 and
                      // whose values and masses are ordinary. Empty partitions do not count.
  std::string kernel;
  std::string unit;
  std::string out;
  std::uint32_t x = 0;
  std::uint32_t y = 0;

  auto operator<=>(const ChartKey&) const = default;
};

struct ChartRow {
  std::uint64_t row_heads = 0;
  Maximum scaled_ulp;
  // The largest proven bound in units of scaled_ulp, as scaled_ulp / bound_use of an element: to an eighth, what the
  // grid of small metrics leaves open, or more. 0: no element with an error.
  double largest_bound = 0;

  void merge(const ChartRow& other);
};

inline constexpr const char* kOldFailure = "old failure";
inline constexpr const char* kCorpusInput = "corpus input";

// What became of a case that is kept in a file: an old failure, or an input of a fuzz corpus.
struct Replay {
  std::string file;
  std::string origin;     // kOldFailure or kCorpusInput
  std::string kernel;     // empty: the file did not tell
  std::string law;        // of one that holds every law it is held to: "every law"
  std::string outcome;    // "fails", "holds", "not applicable", "unreadable"
  std::string case_file;  // that `lsecheck repro` takes; empty: there is none
  std::string message;

  auto operator<=>(const Replay&) const = default;
};

// What was hunted (fuzz/hunt_target.h) for the largest bound_use.
struct HuntKey {
  std::string kernel;
  std::string out;
  std::string partial;
  std::string exponent;
  std::string arch;
  std::string lse_regime;
  std::uint32_t num_partitions = 0;

  std::string types() const { return out + "<-" + partial; }
  auto operator<=>(const HuntKey&) const = default;
};

struct HuntStat {
  std::uint64_t evaluations = 0;  // row-heads that were run
  // The largest seen. -1: nothing was graded; infinite: something was outside the bound, or the kernel fell over.
  double bound_use = -1;
  std::string worst;  // its case, as fuzz/worst_case.h writes it; empty where bound_use is no number of a case

  void merge(const HuntStat& other);
};

inline constexpr std::string_view kPluginBackend = "plugin ";

struct RunContext {
  std::string version;  // "0.1.0"
  std::string commit;
  std::string compiler;
  std::string flags;
  int generator_version = kGeneratorVersion;
  std::string sfu_table_digest;
  std::string profile;  // "smoke", ...
  std::string backend;  // "cpu", "cuda", or kPluginBackend and the path of the shared object as it was given
  std::string arch;     // "sm_100a", or "all"
  std::string unit;     // "h200" or "spec"
  std::string schedule;
  std::string reference;    // "certified" or "exact"
  std::string kernel_glob;  // of a plugin: the name that it gives itself
  std::string law_glob;
  std::uint64_t seed = 0;
  std::uint64_t cases_requested = 0;
  std::uint64_t hunt_evaluations = 0;  // row-heads to hunt with for each target; 0: no hunts
  std::string shard = "1/1";           // which part of the case sequence: format_shard()

  auto operator<=>(const RunContext&) const = default;
};

struct RunTotals {
  std::uint64_t cases = 0;
  std::uint64_t row_heads = 0;
  std::uint64_t elements = 0;
  std::uint64_t failures = 0;

  void merge(const RunTotals& other);
};

// Coverage of the case classes the merged run is checked for.
using CoverageCounts =
    std::map<std::string, std::uint64_t>;  // "lse:narrow", "values:huge", "P>32", "rows_heads>=4,heads>=2"

// Everything but the context; a batch and a whole run have the same shape.
struct RunResults {
  RunTotals totals;
  std::map<StatKey, StatRow> stats;
  std::map<LawKey, LawRow> laws;
  CoverageCounts coverage;
  std::map<ChartKey, ChartRow> charts;
  std::vector<Failure> failures;          // by case index, then law
  std::map<std::string, Replay> replays;  // by file
  std::map<HuntKey, HuntStat> hunts;

  void merge(const RunResults& other);
};

// Receives finished batches in order. commit() is all or nothing: after a crash the sink holds a whole number of
// batches.
class ResultSink {
 public:
  virtual ~ResultSink() = default;
  virtual void commit(const RunResults& batch, std::uint64_t next_case_index) = 0;
};

}  // namespace lsecheck
