/* The example with a fault planted in it, for the tests: FAULT is one of the numbers below. */
#define lsecheck_plugin_v1 example_plugin
#include "properties/plugin/example_combine.c"
#undef lsecheck_plugin_v1

#include <stdlib.h>

enum {
  LAST_FORGOTTEN = 1, /* the last partition is not merged */
  LOG2_AS_NATURAL,    /* takes natural LSEs for base-2 ones */
  GARBAGE_MULTIPLIED, /* what lies under an empty partition is multiplied by 0 */
  PAST_OUTPUT,        /* writes a byte behind its output */
  INPUT_CHANGED,      /* writes into its LSEs */
  PLACE_DEPENDENT,    /* another last bit in every row but the first */
  CRASH,              /* from 40 partitions on */
  HANG,               /* from 40 partitions on */
  OWN_ERROR,          /* cannot do three heads */
  OTHER_ABI,
  EXIT,         /* ends the process as if all were well, from 40 partitions on */
  EXIT_AT_LOAD, /* likewise, before anything is called */
  CRASH_AT_LOAD,
  PRINTS
};

__attribute__((constructor)) static void at_load(void) {
  if (FAULT == EXIT_AT_LOAD) exit(0);
  if (FAULT == CRASH_AT_LOAD) abort();
}

static void multiply_garbage(const struct lsecheck_combine_call* call) {
  const size_t num_rows = (size_t)call->rows * call->heads;
  for (size_t pair = 0; pair < call->num_partitions * num_rows; ++pair) {
    if (call->lse_partial[pair] != -INFINITY) continue;
    for (size_t d = 0; d < call->ov_depth; ++d) {
      ((float*)call->output)[pair % num_rows * call->ov_depth + d] +=
          0 * ((const float*)call->o_partial)[pair * call->ov_depth + d];
    }
  }
}

static int faulty_combine(const struct lsecheck_combine_call* call) {
  struct lsecheck_combine_call changed = *call;
  const size_t elements = (size_t)call->rows * call->heads * call->ov_depth;
  if (FAULT == LAST_FORGOTTEN && call->num_partitions > 1) --changed.num_partitions;
  if (FAULT == CRASH && call->num_partitions >= 40) abort();
  if (FAULT == EXIT && call->num_partitions >= 40) exit(0);
  if (FAULT == PRINTS) puts("a line of the plugin");
  for (volatile int forever = FAULT == HANG && call->num_partitions >= 40; forever;) {
  }
  if (FAULT == OWN_ERROR && call->heads == 3) {
    snprintf(call->error, call->error_size, "three heads\nare too many");
    return 7;
  }
  if (combine(&changed) != 0) return 1;
  if (FAULT == GARBAGE_MULTIPLIED) multiply_garbage(call);
  if (FAULT == PAST_OUTPUT) ((unsigned char*)call->output)[elements * sizeof(float)] = 1;
  if (FAULT == INPUT_CHANGED) ((float*)(uintptr_t)call->lse_partial)[0] = 12345;
  for (size_t i = call->ov_depth; FAULT == PLACE_DEPENDENT && i < elements; ++i) ((uint32_t*)call->output)[i] ^= 1;
  return 0;
}

__attribute__((visibility("default"))) const struct lsecheck_plugin* lsecheck_plugin_v1(void) {
  static const struct lsecheck_type_pair f32 = {LSECHECK_F32, LSECHECK_F32};
  static struct lsecheck_plugin plugin;
  plugin = *example_plugin();
  plugin.name = "faulty_combine";
  plugin.types = &f32;
  plugin.num_types = 1;
  plugin.combine = faulty_combine;
  if (FAULT == LOG2_AS_NATURAL) plugin.lse = LSECHECK_LSE_NATURAL;
  if (FAULT == OTHER_ABI) plugin.abi = 2;
  return &plugin;
}
