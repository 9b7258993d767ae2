#pragma once

#include <string>
#include <string_view>

#include "reports/stored_run.h"

// The results as JSON, schema "lsecheck.results/3". Keys and rows have one order, doubles are printed so that they read
// back to the same bits (an infinite error is the string "inf"), nothing depends on time, machine or batching: equal
// runs give equal bytes.
//
//   schema    "lsecheck.results/3"
//   context   what was run: build, options, seed
//   progress  next_case_index, finished
//   summary   cases, row_heads, elements, failures
//   kernels   a row for each kernel, variant, arch, unit, types, partition class and LSE regime: counts, digest of all
//   output bits, and per
//             metric the largest value seen with its place (null: none seen) and the histogram as [bin, count] pairs;
//             bin 0 holds exact zeros, bin b the errors in (2^((b-1)/2 - 16), 2^(b/2 - 16)], bins 1 and 79 collect the
//             rest
//   laws      checked, not_applicable, failed for each kernel and law
//   coverage  cases of each class
//   charts    a row for each cell of the charts: row-heads, largest scaled_ulp with its place, largest bound in the
//   same unit; x and y are
//             bin numbers
//   failures  in the order of their cases
//   replays   what became of old failures and of corpus inputs, by file
//   hunts     a row for each target hunted: row-heads run, largest bound_use (null: none; "inf": outside the bound) and
//   its case
namespace lsecheck {

inline constexpr const char* kResultsSchema = "lsecheck.results/3";

std::string results_text(const StoredRun& run);
// A run that began at case 0 and came to its end.
std::string results_text(const RunContext& context, const RunResults& results);

// The inverse; also of schema "lsecheck.results/2", which has no hunts and whose replays are old failures, and
// "lsecheck.results/1", which has no charts, replays and shard either, and in part no reference.
// Strict: missing, unknown, repeated or ill-typed members throw StoreError (unreadable), which names
// `source` and the member.
StoredRun parse_results(std::string_view text, const std::string& source);

}  // namespace lsecheck
