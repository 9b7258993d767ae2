#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "properties/case_draw.h"
#include "properties/laws.h"
#include "properties/results.h"
#include "properties/shard.h"
#include "properties/worker_pool.h"
#include "reference/reference_kind.h"

// Draws cases, holds the laws against them and collects what was measured. Which cases run and every result byte follow
// from the config; jobs and time only decide how fast, and at which batch boundary, the fixed sequence stops.
namespace lsecheck {

// Receives every measurement of accuracy; called by all jobs at once.
using MeasurementHook =
    std::function<void(std::uint64_t case_index, const CaseTensors& tensors, const AccuracyMeasurement& measured)>;

struct RunConfig {
  std::string profile;
  std::uint64_t seed = 0;
  std::uint64_t cases = 0;                // length of the sequence
  Shard shard;                            // the part of the sequence that is run
  std::uint64_t first_case = 0;           // where a resumed run goes on
  std::vector<Failure> earlier_failures;  // of the cases before it
  std::string kernel_glob = "*";
  std::string law_glob = "*";
  DrawLimits limits;
  ReferenceKind reference = ReferenceKind::certified;
  unsigned jobs = 1;
  std::string failure_directory;    // where shrunk cases are written; created when the first failure is
  std::uint64_t max_failures = 20;  // the run stops at the end of the batch that reaches it
  // Failures that are known and do not count for max_failures; empty: none.
  std::function<bool(const Failure&)> known;
  // Kernels run in processes of their own: one that crashes, hangs or eats memory fails and does not end the run. Only
  // for the CPU. nullopt: on threads of this process.
  std::optional<WorkerLimits> isolation;
  std::optional<std::chrono::steady_clock::duration> time;
  MeasurementHook on_measured;  // not with isolation: the hook would hear nothing of what other processes measure
};

// A kernel that brings down so many of its processes, earlier_failures included, is run no more: one that hangs costs
// the whole time limit every time. Each shard of a run counts for itself.
inline constexpr unsigned kDeathsUntilGivenUp = 3;

struct RunProgress {
  std::uint64_t next_case = 0;
  std::uint64_t cases = 0;
  std::uint64_t failures = 0;
};

enum class RunEnd : std::uint8_t { finished, out_of_time, too_many_failures };

// Laws of law_glob that a case draws from, accuracy first; none where it matches laws of the whole run alone. Throws
// std::invalid_argument when a glob matches nothing.
std::vector<const Law*> matching_laws(const std::string& law_glob);
// Whether the glob asks for that law.
bool asks_for_law(const std::string& law_glob, LawId law);

RunEnd run_cases(const RunConfig& config, ResultSink& sink, const std::function<void(const RunProgress&)>& progress);

// Who is told of a case on its way; empty: nobody.
struct CaseHooks {
  std::function<void(LawId)> beginning;  // before every law
  MeasurementHook on_measured;
};

// What one case contributes; failures hold the case as drawn, not yet shrunk.
RunResults evaluate_case(const CaseSpec& spec, std::uint64_t case_index, const std::vector<const Law*>& laws,
                         Reference& reference, const CaseHooks& hooks = {});

// The failure of a case of the run made small; its case file goes to config.failure_directory. One that does not come
// again stays as drawn, and its message says so.
Failure shrunk_failure(Failure failure, const RunConfig& config, Reference& reference);
// "DIRECTORY/case-28-accuracy.safetensors". Creates the directory.
std::string failure_file(const std::string& directory, const Failure& failure);

// "P=33 rows=2 heads=1 D=64 bf16<-bf16 sm_100a production narrow/normal/none/nan h200 lockstep".
std::string describe_spec(const CaseSpec& spec);

}  // namespace lsecheck
