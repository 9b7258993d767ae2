/* A whole plugin for lsecheck: a flat combine in f32 on the CPU. Copy it, and call your own kernel in combine().
 *
 *   cc -std=c99 -O2 -shared -fPIC -o libexample.so example_combine.c -lm
 *   lsecheck run --plugin ./libexample.so
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lsecheck_plugin.h"

static float load(uint32_t type, const void* array, size_t index) {
  float value;
  if (type == LSECHECK_F32) {
    value = ((const float*)array)[index];
  } else {
    const uint32_t bits = (uint32_t)((const uint16_t*)array)[index] << 16;
    memcpy(&value, &bits, sizeof value);
  }
  return value;
}

/* Rounds to nearest even. */
static void store(uint32_t type, void* array, size_t index, float value) {
  uint32_t bits;
  if (type == LSECHECK_F32) {
    ((float*)array)[index] = value;
    return;
  }
  memcpy(&bits, &value, sizeof bits);
  if (value != value) {
    bits = 0x7fc00000u;
  } else {
    bits += 0x7fffu + (bits >> 16 & 1u);
  }
  ((uint16_t*)array)[index] = (uint16_t)(bits >> 16);
}

static int combine(const struct lsecheck_combine_call* call) {
  const size_t num_rows = (size_t)call->rows * call->heads;
  const size_t depth = call->ov_depth;
  float weights[160];
  if (call->num_partitions > 160) {
    snprintf(call->error, call->error_size, "%u partitions are more than 160", (unsigned)call->num_partitions);
    return 1;
  }
  for (size_t row = 0; row < num_rows; ++row) {
    float max = -INFINITY;
    float sum = 0;
    for (size_t p = 0; p < call->num_partitions; ++p) max = fmaxf(max, call->lse_partial[p * num_rows + row]);
    for (size_t p = 0; p < call->num_partitions; ++p) {
      const float lse = call->lse_partial[p * num_rows + row];
      weights[p] = lse == -INFINITY ? 0.0f : exp2f(lse - max);
      sum += weights[p];
    }
    for (size_t d = 0; d < depth; ++d) {
      float accumulator = 0;
      for (size_t p = 0; p < call->num_partitions; ++p) {
        if (weights[p] == 0) continue; /* what lies under an empty partition may be NaN */
        accumulator += weights[p] * load(call->partial_type, call->o_partial, (p * num_rows + row) * depth + d);
      }
      store(call->out_type, call->output, row * depth + d, sum > 0 ? accumulator / sum : 0.0f);
    }
  }
  return 0;
}

const struct lsecheck_plugin* lsecheck_plugin_v1(void) {
  static const uint32_t depths[] = {64, 80, 128};
  static const struct lsecheck_type_pair types[] = {
      {LSECHECK_F32, LSECHECK_F32}, {LSECHECK_BF16, LSECHECK_BF16}, {LSECHECK_BF16, LSECHECK_F32}};
  static const struct lsecheck_plugin plugin = {
      .abi = LSECHECK_PLUGIN_ABI,
      .size = sizeof(struct lsecheck_plugin),
      .name = "example_combine",
      .lse = LSECHECK_LSE_LOG2,
      .combine_class = LSECHECK_FLAT,
      .intermediate_type = LSECHECK_F32,
      .all_empty_row = LSECHECK_ZEROS,
      .garbage = LSECHECK_GARBAGE_ANYTHING,
      .bits = LSECHECK_BITS_SAME_ROW,
      .min_num_partitions = 1,
      .max_num_partitions = 160,
      .depths = depths,
      .num_depths = sizeof depths / sizeof depths[0],
      .types = types,
      .num_types = sizeof types / sizeof types[0],
      .combine = combine,
  };
  return &plugin;
}
