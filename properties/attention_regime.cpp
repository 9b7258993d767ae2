#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/dispatch/fa4_dispatch.h"
#include "kernels/sfu/sfu.h"
#include "properties/case_kernel.h"
#include "properties/case_rows.h"

// A split attention small enough to draw with every case: few keys a tile, a short query. Two tokens share a query
// tile, so they share the number of visible KV tiles, while the mask inside the last (and first) tiles differs between
// them. As in production a tile that is processed but masked for a row gives finite sentinel scores, and only a
// partition without tiles is empty.
namespace lsecheck {
namespace {

constexpr std::size_t kQueryDepth = 8;
constexpr std::size_t kKeysPerTile = 2;
constexpr std::size_t kTokensPerTile = 2;
constexpr float kScaleLog2e = 0x1.0527dcp-1F;  // log2(e) / sqrt(kQueryDepth), rounded to f32

enum class Mask : std::uint8_t { null, causal, sliding };

// What one launch shares.
struct Launch {
  Mask mask;
  float sentinel;  // log2 units
  float sharpness;
};

Launch draw_launch(const CaseSpec& spec) {
  PhiloxStream stream = stream_for(spec, DrawPurpose::attention_launch, 0);
  constexpr std::array<Mask, 3> kMasks{Mask::null, Mask::causal, Mask::sliding};
  constexpr std::array<float, 4> kSharpness{0.5F, 1, 4, 16};
  const Mask mask = kMasks[stream.below(kMasks.size())];
  const float sentinel = stream.chance(1, 2) ? -1e4F : -0x1p100F;
  return {mask, sentinel, kSharpness[stream.below(kSharpness.size())]};
}

// Visible KV tiles of a query tile and how many keys the mask's edge moves from one token to the next.
struct QueryTile {
  std::size_t num_tiles;
  std::size_t edge_step;
};

QueryTile draw_query_tile(const CaseSpec& spec, std::uint64_t index) {
  PhiloxStream stream = stream_for(spec, DrawPurpose::attention_window, index);
  const bool few_tiles = stream.chance(1, 2);
  const bool no_tiles = stream.chance(1, 8);
  const std::size_t edge_step = 1 + stream.below(3);
  // Fewer tiles than partitions leave trailing ones empty; with at least as many none is.
  const std::size_t p = spec.num_partitions;
  const auto few = [&] { return 1 + stream.below(p > 1 ? p - 1 : 1); };
  const auto enough = [&] { return p + stream.below(p / 2 + 1); };
  switch (spec.empties) {
    case EmptyPattern::all:
      return {0, edge_step};
    case EmptyPattern::trailing:
      return {few(), edge_step};
    case EmptyPattern::mixed_rows:
      return {no_tiles ? 0 : few_tiles ? few() : enough(), edge_step};
    case EmptyPattern::none:
    case EmptyPattern::one_left:
    case EmptyPattern::leading:
    case EmptyPattern::random:
      break;
  }
  return {enough(), edge_step};
}

bool visible(const Launch& launch, const QueryTile& tile, std::size_t token_in_tile, std::size_t key) {
  if (launch.mask == Mask::null) return true;
  const std::size_t num_keys = tile.num_tiles * kKeysPerTile;
  const std::size_t hidden_at_end = (kTokensPerTile - 1 - token_in_tile) * tile.edge_step;
  if (key + hidden_at_end >= num_keys) return false;
  return launch.mask != Mask::sliding || key >= token_in_tile * tile.edge_step;
}

// [keys, columns] standard normal, one stream a key.
std::vector<float> draw_matrix(const CaseSpec& spec, DrawPurpose purpose, std::size_t head, std::size_t keys,
                               std::size_t columns) {
  std::vector<float> matrix(keys * columns);
  for (std::size_t key = 0; key < keys; ++key) {
    PhiloxStream stream = stream_for(spec, purpose, static_cast<std::uint64_t>(head) << 32 | key);
    for (std::size_t c = 0; c < columns; ++c) matrix[key * columns + c] = stream.normal();
  }
  return matrix;
}

// One head's keys and values, shared by every row.
struct HeadCache {
  std::vector<float> keys;    // [keys, kQueryDepth]
  std::vector<float> values;  // [keys, ov_depth]
};

// [keys] scores of one row-head, log2 units.
std::vector<float> score_row(const CaseSpec& spec, const Launch& launch, const QueryTile& tile, const HeadCache& cache,
                             std::uint64_t rh) {
  std::array<float, kQueryDepth> query;
  PhiloxStream stream = stream_for(spec, DrawPurpose::attention_query, rh);
  for (float& q : query) q = launch.sharpness * stream.normal();
  const std::size_t token_in_tile = rh / spec.heads % kTokensPerTile;
  std::vector<float> scores;
  for (std::size_t key = 0; key < tile.num_tiles * kKeysPerTile; ++key) {
    float dot = 0;
    for (std::size_t c = 0; c < kQueryDepth; ++c) dot = std::fma(query[c], cache.keys[key * kQueryDepth + c], dot);
    scores.push_back(visible(launch, tile, token_in_tile, key) ? dot * kScaleLog2e : launch.sentinel);
  }
  return scores;
}

// Softmax over the keys [begin, end) of one partition, begin < end: writes the sum of weighted values.
struct MaxAndMass {
  float m;
  float l;
};
MaxAndMass attend(const CaseSpec& spec, const HeadCache& cache, std::span<const float> scores, std::size_t begin,
                  std::size_t end, std::span<float> out) {
  const float m = *std::max_element(scores.begin() + static_cast<std::ptrdiff_t>(begin),
                                    scores.begin() + static_cast<std::ptrdiff_t>(end));
  float l = 0;
  for (std::size_t key = begin; key < end; ++key) {
    const float weight = sfu::h200_ex2_approx_ftz(scores[key] - m);
    l += weight;
    const float* values = cache.values.data() + key * spec.ov_depth;
    for (std::size_t d = 0; d < out.size(); ++d) out[d] = std::fma(weight, values[d], out[d]);
  }
  return {m, l};
}

}  // namespace

AttentionPartials compute_attention(const CaseSpec& spec) {
  const std::size_t depth = spec.ov_depth;
  const std::size_t rows_heads = spec.rows_heads();
  const Launch launch = draw_launch(spec);
  std::vector<QueryTile> tiles;
  std::size_t most_tiles = 0;
  for (std::size_t row = 0; row < spec.rows; row += kTokensPerTile) {
    tiles.push_back(draw_query_tile(spec, row / kTokensPerTile));
    most_tiles = std::max(most_tiles, tiles.back().num_tiles);
  }
  const CombineKernel& kernel = kernel_of(spec);
  AttentionPartials result;
  result.lse.assign(spec.num_partitions * rows_heads, -std::numeric_limits<float>::infinity());
  result.o.assign(spec.num_partitions * rows_heads * depth, 0.0F);
  result.mass.assign(result.lse.size(), 0.0F);
  for (std::size_t head = 0; head < spec.heads; ++head) {
    const std::size_t keys = most_tiles * kKeysPerTile;
    const HeadCache cache{draw_matrix(spec, DrawPurpose::attention_key, head, keys, kQueryDepth),
                          draw_matrix(spec, DrawPurpose::attention_value, head, keys, depth)};
    for (std::size_t row = 0; row < spec.rows; ++row) {
      const std::size_t rh = row * spec.heads + head;
      const QueryTile& tile = tiles[row / kTokensPerTile];
      const std::vector<float> scores = score_row(spec, launch, tile, cache, rh);
      for (int p = 0; p < spec.num_partitions; ++p) {
        const KvWindow window = splitk_window(static_cast<std::int64_t>(tile.num_tiles), spec.num_partitions, p);
        if (window.empty()) continue;
        const std::size_t index = static_cast<std::size_t>(p) * rows_heads + rh;
        const std::span out = std::span(result.o).subspan(index * depth, depth);
        const MaxAndMass partial = attend(spec, cache, scores, static_cast<std::size_t>(window.begin) * kKeysPerTile,
                                          static_cast<std::size_t>(window.end) * kKeysPerTile, out);
        result.lse[index] = kernel.takes_masses() ? partial.m : sfu::h200_lg2_approx(partial.l) + partial.m;
        result.mass[index] = partial.l;
        if (!kernel.partials_normalised()) continue;
        for (float& value : out) value = value / partial.l;
      }
    }
  }
  return result;
}

}  // namespace lsecheck
