/* How a combine kernel of another project comes to lsecheck: as a shared object that exports lsecheck_plugin_v1().
 *
 *   cc -std=c99 -O2 -shared -fPIC -o libmine.so mine.c      (or nvcc, g++, ...; this header is all it needs)
 *   lsecheck run --plugin ./libmine.so
 *
 * C99 and C++. Copy this file, or include it from where it lies; example_combine.c beside it is a whole plugin,
 * example_combine.cu another whose kernel runs on a GPU.
 *
 * The kernel merges P normalised partial results of one attention row by their log-sum-exp:
 *   output[d] = sum_p w_p o_p[d],   w_p = base^(lse_p) / sum_q base^(lse_q),   base = 2 or e.
 *
 * No enumeration below has a value 0: a field that was forgotten is refused.
 */
#ifndef LSECHECK_PLUGIN_H
#define LSECHECK_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LSECHECK_PLUGIN_ABI 1u

/* Element types. f16 is IEEE binary16, bf16 the upper half of an f32. */
enum { LSECHECK_BF16 = 1, LSECHECK_F16 = 2, LSECHECK_F32 = 3 };

/* What the LSEs are: base-2 or natural logarithms. */
enum { LSECHECK_LSE_LOG2 = 1, LSECHECK_LSE_NATURAL = 2 };

/* The class of the algorithm, as in `lsecheck check --combine`. The error bound is the worst case over the class, in
 * any order of summation, fused or not, denormals kept or flushed, with exponentials, logarithms and reciprocals of the
 * PTX ISA's accuracy or better, and a final cast that rounds to nearest.
 *   FLAT      weights exp(lse_p - max) over their sum, or exp(lse_p - LSE) with the global LSE
 *   ONLINE    a running maximum, by which accumulator and sum are rescaled; shares may be merged in a tree
 *   PAIRWISE  any binary tree of merges of normalised (O, LSE) pairs
 */
enum { LSECHECK_FLAT = 1, LSECHECK_ONLINE = 2, LSECHECK_PAIRWISE = 3 };

/* What a row gives whose partitions are all empty (every LSE -inf). */
enum { LSECHECK_ZEROS = 1, LSECHECK_NAN = 2 };

/* What may lie in o_partial under an empty partition (LSE -inf), which nobody wrote.
 *   ANYTHING  no bit there reaches the output, NaN and Inf included
 *   FINITE    it is multiplied by a weight of 0: NaN or Inf there may reach the output
 */
enum { LSECHECK_GARBAGE_ANYTHING = 1, LSECHECK_GARBAGE_FINITE = 2 };

/* Which bits come again.
 *   MAY_DIFFER   the order of summation may change from call to call (atomics)
 *   SAME_LAUNCH  the same call gives the same bits, and no order depends on the values
 *   SAME_ROW     besides, a row's bits depend on that row, P, ov_depth and the types alone: not on its neighbours, its
 *                place or how many rows there are
 */
enum { LSECHECK_BITS_MAY_DIFFER = 1, LSECHECK_BITS_SAME_LAUNCH = 2, LSECHECK_BITS_SAME_ROW = 3 };

/* One call. All arrays are dense and row-major, in host memory, and begin at multiples of 64 bytes.
 *   lse_partial  [num_partitions, rows, heads]            f32; -inf: the partition is empty
 *   o_partial    [num_partitions, rows, heads, ov_depth]  partial_type
 *   output       [rows, heads, ov_depth]                  out_type
 * The arrays belong to lsecheck and are gone when the call returns. lsecheck notices what is written outside of output
 * up to 16 KiB before and behind each array.
 * A row of NaN LSEs may stand beside others: nobody looks at what it gives, the other rows are due as ever.
 */
struct lsecheck_combine_call {
  uint32_t num_partitions;
  uint32_t rows;
  uint32_t heads;
  uint32_t ov_depth;
  uint32_t out_type;
  uint32_t partial_type;
  const float* lse_partial;
  const void* o_partial;
  void* output;
  char* error;       /* for one line that says what went wrong, with its final 0; "" before the call */
  size_t error_size; /* bytes there */
};

struct lsecheck_type_pair {
  uint32_t out;
  uint32_t partial;
};

/* Everything that it points to stays as it is until the process ends. */
struct lsecheck_plugin {
  uint32_t abi;  /* LSECHECK_PLUGIN_ABI */
  uint32_t size; /* sizeof(struct lsecheck_plugin) */

  const char* name; /* for reports: 1 to 64 letters, digits and any of _ - . + : */

  uint32_t lse;           /* LSECHECK_LSE_... */
  uint32_t combine_class; /* LSECHECK_FLAT, ... */
  /* The type in which numbers are kept between two steps: FLAT and ONLINE: weights, products, accumulator and sum;
   * PAIRWISE: O and LSE after each merge, whose own arithmetic is f32. A wider one than is stored gives false alarms, a
   * narrower one a looser bound: the bound of BF16 lets many faults pass that change a result by less than some
   * percent.
   */
  uint32_t intermediate_type;
  uint32_t all_empty_row; /* LSECHECK_ZEROS or LSECHECK_NAN */
  uint32_t garbage;       /* LSECHECK_GARBAGE_... */
  uint32_t bits;          /* LSECHECK_BITS_... */

  /* Every partition count from 1 <= min to max >= 2 can be called. Cases use at most 160. */
  uint32_t min_num_partitions;
  uint32_t max_num_partitions;

  /* The ov_depths, at most 32 of them, each 1 to 4096. Every depth goes with every pair of types. */
  const uint32_t* depths;
  size_t num_depths;
  const struct lsecheck_type_pair* types;
  size_t num_types;

  /* 0: done. Anything else: it could not, which is a failure of the kernel, reported with the text in call->error.
   *
   * It is called from one thread at a time, which may be another one each time, and from worker processes that are
   * forked after lsecheck_plugin_v1() was called: open devices in the first call of combine, not before. It must not
   * throw, call exit(), or close files that it did not open; what it prints goes to standard error. A call that
   * crashes, hangs (--case-timeout) or eats memory (--memory) is a failure of the kernel, too. A kernel on a GPU has a
   * context in each of --jobs processes (--no-isolate: in the main process); where a fault broke the context, end the
   * process: example_combine.cu.
   */
  int (*combine)(const struct lsecheck_combine_call* call);
};

/* What the shared object exports. Called in a process that tries it first, and then once in the program. */
__attribute__((visibility("default"))) const struct lsecheck_plugin* lsecheck_plugin_v1(void);

#ifdef __cplusplus
}
#endif

#endif
