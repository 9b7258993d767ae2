#include "fuzz/hunt_island.h"

#include <algorithm>
#include <stdexcept>

#include "fuzz/hunt_mutation.h"
#include "properties/philox.h"

namespace lsecheck {

namespace {

constexpr std::size_t kRowsPerLaunch = 32;
constexpr std::uint64_t kGenerations = kIslandEvaluations / kRowsPerLaunch;
static_assert(kGenerations * kRowsPerLaunch == kIslandEvaluations);
constexpr std::size_t kRowParents = 8;
constexpr std::size_t kColumnParents = 48;
constexpr std::uint32_t kSearchPurpose = 0x68756e74;
constexpr std::uint32_t kRandomPurpose = 0x72616e64;

struct ScoredRow {
  HuntRow row;
  std::vector<double> scores;  // [ov_depth]
  double best = -1;
};

struct Column {
  double score = -1;
  std::vector<std::uint32_t> o;  // [P]
};

class Search {
 public:
  Search(const CaseSpec& spec, HuntMetric metric, PhiloxStream random)
      : spec_(spec), evaluation_(spec, metric), random_(random), depth_(spec.ov_depth) {}

  // Rows first: which weights err the most. Then the columns under the best row's weights, whose roundings are nearly
  // independent of each other: with many partitions they weigh more, and get more of the evaluations.
  std::optional<IslandResult> run(const std::atomic<bool>& stop) {
    const std::uint64_t row_generations = spec_.num_partitions <= 16 ? kGenerations * 3 / 4 : kGenerations / 4;
    start();
    for (std::uint64_t generation = 1; generation < kGenerations; ++generation) {
      if (stop) return std::nullopt;
      if (generation < row_generations) {
        evolve_rows();
      } else {
        if (columns_.empty()) take_columns();
        evolve_columns();
      }
    }
    return IslandResult{{columns_.front().score, base_.lse, base_.mass, columns_.front().o}, evaluation_.outside()};
  }

 private:
  void start() {
    std::vector<HuntRow> rows = draw_hunt_rows(spec_, random_.next_u64(), kRowsPerLaunch);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i % 2 == 1) sort_by_exponent(spec_, rows[i]);
      plant_columns(spec_, rows[i], random_);
    }
    add_rows(std::move(rows));
  }

  void add_rows(std::vector<HuntRow> rows) {
    const std::vector<double> scores = evaluation_.scores(rows);
    std::vector<ScoredRow> added;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto from = scores.begin() + static_cast<std::ptrdiff_t>(r * depth_);
      ScoredRow scored{std::move(rows[r]), {from, from + static_cast<std::ptrdiff_t>(depth_)}, -1};
      scored.best = *std::max_element(scored.scores.begin(), scored.scores.end());
      added.push_back(std::move(scored));
    }
    // Newer rows win ties, so that a plateau is walked over.
    std::move(rows_.begin(), rows_.end(), std::back_inserter(added));
    std::stable_sort(added.begin(), added.end(),
                     [](const ScoredRow& a, const ScoredRow& b) { return a.best > b.best; });
    added.resize(std::min(added.size(), kRowParents));
    rows_ = std::move(added);
  }

  void evolve_rows() {
    std::vector<HuntRow> children;
    while (children.size() < kRowsPerLaunch) {
      HuntRow child = rows_[random_.below(rows_.size())].row;
      const HuntRow& other = rows_[random_.below(rows_.size())].row;
      if (random_.chance(1, 4)) cross_rows(spec_, child, other, random_);
      const std::uint64_t changes = 1 + random_.below(3);
      for (std::uint64_t i = 0; i < changes; ++i) mutate_weights(spec_, child, random_);
      // Half of the columns stay as they are: what they gain or lose is due to the weights.
      for (std::size_t d = 1; d < depth_; d += 2) {
        std::uint32_t& bits = child.o[random_.below(spec_.num_partitions) * depth_ + d];
        bits = mutated_value(spec_.partial, bits, random_);
      }
      children.push_back(std::move(child));
    }
    add_rows(std::move(children));
  }

  void take_columns() {
    base_ = rows_.front().row;
    std::vector<Column> columns;
    for (std::size_t d = 0; d < depth_; ++d) {
      Column column{rows_.front().scores[d], {}};
      for (std::size_t p = 0; p < spec_.num_partitions; ++p) column.o.push_back(base_.o[p * depth_ + d]);
      columns.push_back(std::move(column));
    }
    keep_columns(std::move(columns));
  }

  void keep_columns(std::vector<Column> added) {
    std::move(columns_.begin(), columns_.end(), std::back_inserter(added));
    std::stable_sort(added.begin(), added.end(), [](const Column& a, const Column& b) { return a.score > b.score; });
    added.resize(std::min(added.size(), kColumnParents));
    columns_ = std::move(added);
  }

  std::vector<std::uint32_t> child_column() {
    std::vector<std::uint32_t> child = columns_[random_.below(columns_.size())].o;
    const std::vector<std::uint32_t>& other = columns_[random_.below(columns_.size())].o;
    const bool cross = random_.chance(1, 2);
    if (cross) {
      for (std::size_t p = 0; p < child.size(); p += 32) {
        const std::uint32_t picks = random_.next_u32();
        for (std::size_t i = 0; i < 32 && p + i < child.size(); ++i) {
          if ((picks >> i & 1) != 0) child[p + i] = other[p + i];
        }
      }
    }
    const std::uint64_t changes = (cross ? 0 : 1) + random_.below(4);
    for (std::uint64_t i = 0; i < changes; ++i) {
      std::uint32_t& bits = child[random_.below(child.size())];
      bits = mutated_value(spec_.partial, bits, random_);
    }
    return child;
  }

  void evolve_columns() {
    std::vector<HuntRow> rows(kRowsPerLaunch, base_);
    std::vector<Column> children;
    for (HuntRow& row : rows) {
      for (std::size_t d = 0; d < depth_; ++d) {
        children.push_back({-1, child_column()});
        for (std::size_t p = 0; p < spec_.num_partitions; ++p) row.o[p * depth_ + d] = children.back().o[p];
      }
    }
    const std::vector<double> scores = evaluation_.scores(rows);
    for (std::size_t i = 0; i < children.size(); ++i) children[i].score = scores[i];
    keep_columns(std::move(children));
  }

  CaseSpec spec_;
  HuntEvaluation evaluation_;
  PhiloxStream random_;
  std::size_t depth_;
  std::vector<ScoredRow> rows_;  // best first
  HuntRow base_;                 // whose weights the columns are under
  std::vector<Column> columns_;  // best first
};

std::optional<IslandResult> draw_only(const CaseSpec& spec, HuntMetric metric, PhiloxStream random,
                                      const std::atomic<bool>& stop) {
  HuntEvaluation evaluation(spec, metric);
  IslandFind best;
  for (std::uint64_t generation = 0; generation < kGenerations; ++generation) {
    if (stop) return std::nullopt;
    const std::vector<HuntRow> rows = draw_hunt_rows(spec, random.next_u64(), kRowsPerLaunch);
    const std::vector<double> scores = evaluation.scores(rows);
    const auto at = std::max_element(scores.begin(), scores.end());
    if (!(*at > best.score)) continue;
    const auto i = static_cast<std::size_t>(at - scores.begin());
    const HuntRow& row = rows[i / spec.ov_depth];
    best = {*at, row.lse, row.mass, {}};
    for (std::size_t p = 0; p < spec.num_partitions; ++p) {
      best.o.push_back(row.o[p * spec.ov_depth + i % spec.ov_depth]);
    }
  }
  return IslandResult{best, evaluation.outside()};
}

}  // namespace

std::optional<IslandResult> run_island(const HuntTarget& target, IslandKind kind, std::uint64_t seed,
                                       std::uint64_t island, const std::atomic<bool>& stop) {
  const std::optional<CaseSpec> spec = hunt_spec(target);
  if (!spec) throw std::invalid_argument("the kernel cannot be launched like this");
  if (kind == IslandKind::random) {
    return draw_only(*spec, target.metric, PhiloxStream(seed, kRandomPurpose, island), stop);
  }
  return Search(*spec, target.metric, PhiloxStream(seed, kSearchPurpose, island)).run(stop);
}

}  // namespace lsecheck
