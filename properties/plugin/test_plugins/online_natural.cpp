// A correct plugin in C++ for the tests: online, natural LSEs, f16, at least two partitions, NaN from empty rows,
// garbage multiplied by 0, and a processor that is left to flush subnormals.
#include <immintrin.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "properties/plugin/lsecheck_plugin.h"

namespace {

constexpr float kEmpty = -std::numeric_limits<float>::infinity();

float load(std::uint32_t type, const void* array, std::size_t i) {
  return type == LSECHECK_F32 ? static_cast<const float*>(array)[i]
                              : _cvtsh_ss(static_cast<const unsigned short*>(array)[i]);
}

void store(std::uint32_t type, void* array, std::size_t i, float value) {
  if (type == LSECHECK_F32) {
    static_cast<float*>(array)[i] = value;
  } else {
    static_cast<unsigned short*>(array)[i] = _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
  }
}

float combine_element(const lsecheck_combine_call& call, std::size_t row, std::size_t d) {
  const std::size_t num_rows = std::size_t{call.rows} * call.heads;
  float max = kEmpty;
  float mass = 0;
  float sum = 0;
  for (std::size_t p = 0; p < call.num_partitions; ++p) {
    const std::size_t pair = p * num_rows + row;
    const float lse = call.lse_partial[pair];
    const float next = std::fmax(max, lse);
    const float rescale = max == kEmpty ? 0 : std::exp(max - next);
    const float weight = lse == kEmpty ? 0 : std::exp(lse - next);
    mass = mass * rescale + weight;
    sum = sum * rescale + weight * load(call.partial_type, call.o_partial, pair * call.ov_depth + d);
    max = next;
  }
  return sum / mass;
}

int combine(const lsecheck_combine_call* call) {
  const std::size_t num_rows = std::size_t{call->rows} * call->heads;
  for (std::size_t row = 0; row < num_rows; ++row) {
    for (std::size_t d = 0; d < call->ov_depth; ++d) {
      store(call->out_type, call->output, row * call->ov_depth + d, combine_element(*call, row, d));
    }
  }
  return 0;
}

constexpr std::uint32_t kDepths[] = {32, 8};
constexpr lsecheck_type_pair kTypes[] = {{LSECHECK_F32, LSECHECK_F32},
                                         {LSECHECK_F16, LSECHECK_F16},
                                         {LSECHECK_F32, LSECHECK_F16},
                                         {LSECHECK_F16, LSECHECK_F32}};
constexpr lsecheck_plugin kPlugin{.abi = LSECHECK_PLUGIN_ABI,
                                  .size = sizeof(lsecheck_plugin),
                                  .name = "online_natural",
                                  .lse = LSECHECK_LSE_NATURAL,
                                  .combine_class = LSECHECK_ONLINE,
                                  .intermediate_type = LSECHECK_F32,
                                  .all_empty_row = LSECHECK_NAN,
                                  .garbage = LSECHECK_GARBAGE_FINITE,
                                  .bits = LSECHECK_BITS_SAME_LAUNCH,
                                  .min_num_partitions = 2,
                                  .max_num_partitions = 48,
                                  .depths = kDepths,
                                  .num_depths = 2,
                                  .types = kTypes,
                                  .num_types = 4,
                                  .combine = combine};

}  // namespace

// The mode is what an object that was linked with -ffast-math leaves to the thread that loads it.
const lsecheck_plugin* lsecheck_plugin_v1() {
  _mm_setcsr(_mm_getcsr() | 0x8040U);
  return &kPlugin;
}
