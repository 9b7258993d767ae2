#include "fuzz/hunt_island.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

#include "fuzz/hunt_mutation.h"
#include "properties/case_kernel.h"
#include "properties/philox.h"

namespace lsecheck {

namespace {

constexpr std::size_t kRowsPerLaunch = 32;
constexpr std::uint64_t kGenerations = kIslandEvaluations / kRowsPerLaunch;
static_assert(kGenerations * kRowsPerLaunch == kIslandEvaluations);
constexpr std::size_t kRowParents = 8;
constexpr std::size_t kColumnParents = 48;
constexpr std::size_t kImmigrants = 4;
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

// Columns that evolve together. Roundings are nearly independent of each other, so changes to single values that help
// one column alone mostly help it together, too.
struct Pool {
  std::vector<Column> columns;  // best first
  Column tried;                 // whose values were changed one by one in the pool's last generation
  std::vector<Column> helped;   // [P] the best of those changes; score -1: none was better than the column
};

class Search {
 public:
  // How rows are compared: by their worst column, or by their worst one with a large first term, whose weights leave
  // the most room for what the columns add.
  enum class RowRank : std::uint8_t { any_column, large_first };

  Search(const CaseSpec& spec, HuntMetric metric, PhiloxStream random, RowRank rank)
      : spec_(spec), evaluation_(spec, metric), random_(random), rank_(rank), depth_(spec.ov_depth) {}

  // Rows first: which weights err the most. Then the columns under the best row's weights: with many partitions their
  // roundings weigh more, and get more of the evaluations. Two pools take turns: columns that came along with the row,
  // among them weights alone, and columns with one large term first, whose room the rows' scores do not show.
  std::optional<IslandResult> run(const std::atomic<bool>& stop) {
    const std::uint64_t row_generations = spec_.num_partitions <= 16 ? kGenerations * 3 / 4 : kGenerations / 4;
    start();
    for (std::uint64_t generation = 1; generation < kGenerations; ++generation) {
      if (stop) return std::nullopt;
      if (generation < row_generations) {
        evolve_rows();
      } else if (generation == row_generations) {
        start_columns();
      } else {
        evolve_columns(pools_[generation % 2]);
      }
    }
    const Column& a = pools_[0].columns.front();
    const Column& b = pools_[1].columns.front();
    const Column& best = a.score >= b.score ? a : b;
    return IslandResult{{best.score, base_.lse, base_.mass, best.o}, evaluation_.outside()};
  }

 private:
  void start() { add_rows(drawn_rows(kRowsPerLaunch)); }

  std::vector<HuntRow> drawn_rows(std::size_t count) {
    std::vector<HuntRow> rows = draw_hunt_rows(spec_, random_.next_u64(), count);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i % 2 == 1) sort_by_exponent(spec_, rows[i]);
      plant_columns(spec_, rows[i], random_);
    }
    return rows;
  }

  void add_rows(std::vector<HuntRow> rows) {
    const std::vector<double> scores = evaluation_.scores(rows);
    std::vector<ScoredRow> added;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto from = scores.begin() + static_cast<std::ptrdiff_t>(r * depth_);
      ScoredRow scored{std::move(rows[r]), {from, from + static_cast<std::ptrdiff_t>(depth_)}, -1};
      for (std::size_t d = 0; d < depth_; ++d) {
        if (rank_ == RowRank::any_column || is_large_first_column(d))
          scored.best = std::max(scored.best, scored.scores[d]);
      }
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
    std::vector<HuntRow> children = drawn_rows(kImmigrants);
    while (children.size() < kRowsPerLaunch) {
      HuntRow child = rows_[random_.below(rows_.size())].row;
      const HuntRow& other = rows_[random_.below(rows_.size())].row;
      if (random_.chance(1, 4) && spec_.lse != LseRegime::ties) cross_rows(spec_, child, other, random_);
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

  void start_columns() {
    base_ = rows_.front().row;
    std::vector<Column> columns;
    for (std::size_t d = 0; d < depth_; ++d) columns.push_back({rows_.front().scores[d], column_of(base_, d)});
    keep(pools_[0], std::move(columns));
    columns.clear();
    HuntRow planted = base_;
    while (columns.size() < depth_ * kRowsPerLaunch) {
      plant_large_first(spec_, planted, 0, random_);
      columns.push_back({-1, column_of(planted, 0)});
    }
    score(columns);
    keep(pools_[1], std::move(columns));
  }

  std::vector<std::uint32_t> column_of(const HuntRow& row, std::size_t d) const {
    std::vector<std::uint32_t> o;
    for (std::size_t p = 0; p < spec_.num_partitions; ++p) o.push_back(row.o[p * depth_ + d]);
    return o;
  }

  static void keep(Pool& pool, std::vector<Column> added) {
    std::move(pool.columns.begin(), pool.columns.end(), std::back_inserter(added));
    std::stable_sort(added.begin(), added.end(), [](const Column& a, const Column& b) { return a.score > b.score; });
    added.resize(std::min(added.size(), kColumnParents));
    pool.columns = std::move(added);
  }

  // Most of the single changes that helped, at once; all of them in the first column of a generation.
  std::vector<std::uint32_t> combined(const Pool& pool, bool all) {
    std::vector<std::uint32_t> child = pool.tried.o;
    for (std::size_t p = 0; p < child.size(); ++p) {
      const bool take = random_.chance(7, 8) || all;
      if (take && pool.helped[p].score >= 0) child[p] = pool.helped[p].o[p];
    }
    return child;
  }

  std::vector<std::uint32_t> crossed(const Pool& pool) {
    std::vector<std::uint32_t> child = pool.columns[random_.below(pool.columns.size())].o;
    const std::vector<std::uint32_t>& other = pool.columns[random_.below(pool.columns.size())].o;
    for (std::uint32_t& bits : child) {
      if (random_.chance(1, 2)) bits = other[static_cast<std::size_t>(&bits - child.data())];
    }
    const std::uint64_t changes = random_.below(4);
    for (std::uint64_t i = 0; i < changes; ++i) {
      std::uint32_t& bits = child[random_.below(child.size())];
      bits = mutated_value(spec_.partial, bits, random_);
    }
    return child;
  }

  // One launch: a row of combined columns, then half of the rows single changes to one column, the rest crossed ones.
  void evolve_columns(Pool& pool) {
    const std::size_t partitions = spec_.num_partitions;
    const std::size_t first_trial = depth_;
    const std::size_t first_crossed = depth_ * (1 + kRowsPerLaunch / 2);
    const Column parent = pool.columns[random_.below(std::min<std::size_t>(4, pool.columns.size()))];
    std::vector<Column> children(depth_ * kRowsPerLaunch);
    const auto changed = [&](std::size_t i) { return (i - first_trial) % partitions; };
    for (std::size_t i = 0; i < children.size(); ++i) {
      std::vector<std::uint32_t>& o = children[i].o;
      if (i < first_trial && !pool.helped.empty()) {
        o = combined(pool, i == 0);
      } else if (i >= first_trial && i < first_crossed) {
        o = parent.o;
        o[changed(i)] = mutated_value(spec_.partial, o[changed(i)], random_);
      } else {
        o = crossed(pool);
      }
    }
    score(children);
    pool.tried = parent;
    pool.helped.assign(partitions, {});
    for (std::size_t i = first_trial; i < first_crossed; ++i) {
      Column& best = pool.helped[changed(i)];
      if (children[i].score > std::max(parent.score, best.score)) best = children[i];
    }
    keep(pool, std::move(children));
  }

  void score(std::vector<Column>& columns) {
    std::vector<HuntRow> rows(kRowsPerLaunch, base_);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (std::size_t p = 0; p < spec_.num_partitions; ++p) {
        rows[i / depth_].o[p * depth_ + i % depth_] = columns[i].o[p];
      }
    }
    const std::vector<double> scores = evaluation_.scores(rows);
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].score = scores[i];
  }

  CaseSpec spec_;
  HuntEvaluation evaluation_;
  PhiloxStream random_;
  RowRank rank_;
  std::size_t depth_;
  std::vector<ScoredRow> rows_;  // best first
  HuntRow base_;                 // whose weights the columns are under
  std::array<Pool, 2> pools_;
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

WorstCase worst_of(const HuntTarget& target, const IslandFind& find) {
  const CaseSpec spec = hunt_spec(target).value();
  WorstCase worst;
  worst.target = target;
  worst.variant = variant_of(spec).name;
  worst.ov_depth = spec.ov_depth;
  worst.exponent_scale = hunt_exponent_scale(spec);
  worst.value = find.score;
  worst.lse = find.lse;
  worst.mass = find.mass;
  worst.o = find.o;
  return worst;
}

std::optional<IslandResult> run_island(const HuntTarget& target, IslandKind kind, std::uint64_t seed,
                                       std::uint64_t island, const std::atomic<bool>& stop) {
  const std::optional<CaseSpec> spec = hunt_spec(target);
  if (!spec) throw std::invalid_argument("the kernel cannot be launched like this");
  if (kind == IslandKind::random) {
    return draw_only(*spec, target.metric, PhiloxStream(seed, kRandomPurpose, island), stop);
  }
  const auto rank = island % 2 == 0 ? Search::RowRank::any_column : Search::RowRank::large_first;
  return Search(*spec, target.metric, PhiloxStream(seed, kSearchPurpose, island), rank).run(stop);
}

}  // namespace lsecheck
