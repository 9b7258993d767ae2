#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "fuzz/targets/fuzz_target.h"
#include "kernels/arch.h"
#include "kernels/dispatch/fa4_dispatch.h"
#include "kernels/dispatch/mla_dispatch.h"

namespace lsecheck::fuzz {
namespace {

// Numbers of every size from the input's bytes: a width, then as many bytes, sign-extended. 0 behind the end.
class Numbers {
 public:
  explicit Numbers(FuzzInput input) : input_(input) {}

  std::int64_t next() {
    if (input_.empty()) return 0;
    const std::size_t bytes = std::min<std::size_t>(1 + input_[0] % 8, input_.size() - 1);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{input_[1 + i]} << (8 * i);
    const bool negative = input_[0] & 0x80;
    input_ = input_.subspan(1 + bytes);
    return static_cast<std::int64_t>(negative ? ~value : value);
  }
  int small(int limit) { return static_cast<int>(static_cast<std::uint64_t>(next()) % static_cast<unsigned>(limit)); }
  int sm_count() { return sm_count_of(kAllArchs[static_cast<std::size_t>(small(3))]); }

 private:
  FuzzInput input_;
};

class Oracle {
 public:
  // Whatever is outside the domain is refused with std::invalid_argument, never answered otherwise.
  template <class Work>
  void expect(std::string_view what, const Work& work) {
    if (failure_) return;
    try {
      if (!work()) failure_ = fmt::format("{} does not hold", what);
    } catch (const std::invalid_argument& refusal) {
      if (std::string_view(refusal.what()).empty()) failure_ = fmt::format("{}: refused without a word", what);
    }
  }
  const std::optional<std::string>& failure() const { return failure_; }

 private:
  std::optional<std::string> failure_;
};

bool contains(std::span<const int> list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

void fa4_rules(Oracle& oracle, Numbers& numbers) {
  const int sm = numbers.sm_count();
  const auto ladder = splitk_p_ladder(sm);
  const auto wanted = static_cast<int>(numbers.next());
  oracle.expect("the next rung is the smallest one that holds P", [&] {
    const auto rung = next_rung(sm, wanted);
    const auto found = std::lower_bound(ladder.begin(), ladder.end(), wanted);
    return rung ? found != ladder.end() && *found == *rung : found == ladder.end();
  });
  const std::int64_t raw_grid = numbers.next();
  const std::int64_t n = numbers.next();
  const int p_max = numbers.small(kPMax + 2);
  oracle.expect("a bucketed P is within its cap and the table", [&] {
    const int p = bucket_ws(sm, n, p_max, raw_grid);
    return p >= 1 && p <= std::max(p_max, 1) && (contains(ladder, p) || p == 1 || p <= kPMax);
  });
  oracle.expect("the ceiling is a launchable P", [&] {
    const int ceiling = ws_p_ceiling(sm, raw_grid);
    return ceiling >= 1 && ceiling <= ladder.back();
  });
  const std::int64_t keys = numbers.next();
  oracle.expect("the shared-key route gives a rung or 1", [&] {
    const int p = sk_ws_partitions(sm, keys, raw_grid);
    return p == 1 || contains(ladder, p);
  });
  const auto route = static_cast<SplitRoute>(numbers.small(4));
  constexpr std::array<int, 8> kDepths{64, 72, 80, 96, 128, 192, 256, 512};
  const int depth = kDepths[static_cast<std::size_t>(numbers.small(8))];
  oracle.expect("a chosen P is at least 1 and launchable", [&] {
    const SplitChoice choice = choose_workspace_partitions({sm, route, depth, keys, raw_grid});
    return choice.num_partitions >= 1 && choice.num_partitions <= kPMax &&
           (!choice.fused_cluster || contains(cluster_candidates(sm), choice.num_partitions));
  });
}

void window_rules(Oracle& oracle, Numbers& numbers) {
  const std::int64_t tiles = numbers.next();
  const int partitions = static_cast<int>(numbers.next());
  oracle.expect("windows tile the keys and only trailing ones are empty", [&] {
    std::int64_t end = 0;
    bool empty = false;
    for (int p = 0; p < std::min(partitions, 200); ++p) {
      const KvWindow window = splitk_window(tiles, partitions, p);
      if (window.end < window.begin || (empty && !window.empty())) return false;
      if (!window.empty() && window.begin != end) return false;
      if (!window.empty()) end = window.end;
      empty = window.empty();
    }
    return partitions > 200 || partitions < 1 || end == tiles;
  });
  const int p = static_cast<int>(numbers.next());
  oracle.expect("a window of any partition lies within the keys", [&] {
    const KvWindow window = splitk_window(tiles, partitions, p);
    return window.begin >= 0 && window.begin <= window.end && window.end <= tiles;
  });
}

void mla_rules(Oracle& oracle, Numbers& numbers) {
  const int sm = numbers.sm_count();
  const auto buckets = mla_split_buckets(sm);
  const std::int64_t wanted = numbers.next();
  oracle.expect("a bucket is the smallest that holds the wanted count, or the top", [&] {
    const int bucket = mla_bucket_num_partitions(sm, wanted);
    const auto found = std::find_if(buckets.begin(), buckets.end(), [&](int b) { return b >= wanted; });
    return bucket == (found == buckets.end() ? buckets.back() : *found) && is_mla_bucket(sm, bucket);
  });
  oracle.expect("only buckets are taken", [&] { return require_mla_bucket(sm, wanted) == wanted; });
  const MlaSplitRequest request{sm, numbers.next(), numbers.next(), numbers.next(), numbers.next(), numbers.small(4)};
  oracle.expect("a chosen count is a bucket", [&] { return is_mla_bucket(sm, choose_mla_partitions(request)); });
  oracle.expect("a launch has CTAs", [&] { return mla_decode_ctas(request) >= 0; });
  const std::int64_t ctas = numbers.next();
  const std::int64_t len = numbers.next();
  oracle.expect("a sparse choice is a bucket",
                [&] { return is_mla_bucket(sm, choose_mla_sparse_partitions(sm, ctas, len)); });
  const MlaCombineRequest combine{sm,
                                  numbers.next(),
                                  numbers.next(),
                                  numbers.next(),
                                  numbers.next(),
                                  static_cast<int>(numbers.next()),
                                  numbers.small(2) == 1};
  oracle.expect("warps of a head divide eight", [&] {
    const int warps = choose_mla_combine(combine).warps_per_head;
    return warps == 1 || warps == 2 || warps == 4 || warps == 8;
  });
}

FuzzOutcome run(FuzzInput input) {
  Numbers numbers(input);
  Oracle oracle;
  fa4_rules(oracle, numbers);
  window_rules(oracle, numbers);
  mla_rules(oracle, numbers);
  return {true, oracle.failure()};
}

std::vector<std::vector<std::uint8_t>> seeds() {
  return {{0, 1, 0, 37, 1, 0, 2, 1, 0, 4, 0, 160, 2, 0, 0, 1, 0, 1, 0, 4, 1, 0, 1, 0, 9, 0, 1},
          {7, 255, 255, 255, 255, 255, 255, 255, 127, 0x87, 255, 255, 255, 255, 255, 255, 255, 127}};
}

}  // namespace

const FuzzTarget kDispatchTarget{"dispatch", "partition counts, windows and kernel choices for any sizes", run, nullptr,
                                 seeds};

}  // namespace lsecheck::fuzz
