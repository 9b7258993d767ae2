#pragma once

namespace lsecheck::cli {

// Prints what grading a row costs: the certified reference, the exact one and plain Boost.Multiprecision, as ratios in
// one run on one thread; then where the elements of smoke cases were decided, by regime.
void bench_reference(int num_partitions, int ov_depth, int repeats);

}  // namespace lsecheck::cli
