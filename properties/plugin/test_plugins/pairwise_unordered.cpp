// A correct plugin in C++ for the tests: merges normalised pairs in an order that changes from call to call.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "properties/plugin/lsecheck_plugin.h"

namespace {

constexpr float kEmpty = -std::numeric_limits<float>::infinity();

unsigned num_calls = 0;

struct Node {
  float o = 0;
  float lse = kEmpty;
};

Node merge(const Node& a, const Node& b) {
  const float max = std::fmax(a.lse, b.lse);
  const float weight_a = std::exp2(a.lse - max);
  const float weight_b = std::exp2(b.lse - max);
  const float sum = weight_a + weight_b;
  return {weight_a / sum * a.o + weight_b / sum * b.o, std::log2(sum) + max};
}

float combine_element(const lsecheck_combine_call& call, std::size_t row, std::size_t d) {
  const std::size_t num_rows = std::size_t{call.rows} * call.heads;
  Node all;
  for (std::size_t i = 0; i < call.num_partitions; ++i) {
    const std::size_t pair = (i + num_calls) % call.num_partitions * num_rows + row;
    const float lse = call.lse_partial[pair];
    if (lse == kEmpty) continue;
    const Node leaf{static_cast<const float*>(call.o_partial)[pair * call.ov_depth + d], lse};
    all = all.lse == kEmpty ? leaf : merge(all, leaf);
  }
  return all.o;
}

int combine(const lsecheck_combine_call* call) {
  const std::size_t num_elements = std::size_t{call->rows} * call->heads * call->ov_depth;
  for (std::size_t i = 0; i < num_elements; ++i) {
    static_cast<float*>(call->output)[i] = combine_element(*call, i / call->ov_depth, i % call->ov_depth);
  }
  ++num_calls;
  return 0;
}

constexpr std::uint32_t kDepths[] = {16};
constexpr lsecheck_type_pair kTypes[] = {{LSECHECK_F32, LSECHECK_F32}};
constexpr lsecheck_plugin kPlugin{.abi = LSECHECK_PLUGIN_ABI,
                                  .size = sizeof(lsecheck_plugin),
                                  .name = "pairwise_unordered",
                                  .lse = LSECHECK_LSE_LOG2,
                                  .combine_class = LSECHECK_PAIRWISE,
                                  .intermediate_type = LSECHECK_F32,
                                  .all_empty_row = LSECHECK_ZEROS,
                                  .garbage = LSECHECK_GARBAGE_ANYTHING,
                                  .bits = LSECHECK_BITS_MAY_DIFFER,
                                  .min_num_partitions = 1,
                                  .max_num_partitions = 64,
                                  .depths = kDepths,
                                  .num_depths = 1,
                                  .types = kTypes,
                                  .num_types = 1,
                                  .combine = combine};

}  // namespace

const lsecheck_plugin* lsecheck_plugin_v1() {
  return &kPlugin;
}
