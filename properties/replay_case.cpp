#include "properties/replay_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "kernels/cuda/cuda_backend.h"
#include "properties/case_file.h"
#include "properties/case_kernel.h"
#include "properties/kernel_death.h"
#include "properties/laws.h"
#include "properties/results_wire.h"
#include "properties/run_case.h"
#include "properties/tensor_edits.h"

namespace lsecheck {
namespace {

const char* name_of(LawOutcome::Status status) {
  switch (status) {
    case LawOutcome::Status::fails:
      return "fails";
    case LawOutcome::Status::holds:
      return "holds";
    case LawOutcome::Status::not_applicable:
      break;
  }
  return "not applicable";
}

// Empty, or why the backend in use cannot run the case: its chip and unit must be the device's.
std::string refusal_by_device(const CaseSpec& spec) {
  if (backend_in_use() == Backend::cpu) return "";
  const auto& device = cuda::availability().device;
  if (!kernel_of(spec).has_cuda_build()) return "the kernel has no CUDA build";
  if (!device || spec.arch != device->arch || spec.unit.kind != sfu::UnitKind::h200) {
    return fmt::format("the case is for {} with sfu {}, not for the device", name_of(spec.arch),
                       name_of(spec.unit.kind));
  }
  return "";
}

}  // namespace

std::vector<std::string> case_files_in(const std::string& folder) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(folder)) {
    throw std::invalid_argument(fmt::format("{} is no folder; create it, or give one that holds case files", folder));
  }
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".safetensors") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Replay replay_case_file(const std::string& path, std::uint64_t memory_limit, Reference& reference) {
  Replay replay{path, "", "", "unreadable", ""};
  try {
    const CaseFile file = load_case(path, memory_limit);
    replay.kernel = name_of(file.tensors.spec.kernel);
    replay.law = file.law;
    const Law* const law = find_law(file.law);
    if (law == nullptr) {
      replay.message = fmt::format("law '{}' is not known here", file.law);
      return replay;
    }
    if (const std::string refusal = refusal_by_device(file.tensors.spec); !refusal.empty()) {
      replay.outcome = name_of(LawOutcome::Status::not_applicable);
      replay.message = refusal;
      return replay;
    }
    const LawOutcome outcome = check_guarded(*law, bucketed(file.tensors), reference);
    replay.outcome = name_of(outcome.status);
    replay.message = outcome.message;
  } catch (const FileError& error) {
    replay.message = error.what();
  }
  return replay;
}

std::vector<Replay> replay_case_files(const std::vector<std::string>& paths, std::uint64_t memory_limit,
                                      Reference& reference) {
  std::vector<Replay> replays;
  for (const std::string& path : paths) replays.push_back(replay_case_file(path, memory_limit, reference));
  return replays;
}

std::vector<Replay> replay_case_files_isolated(const std::vector<std::string>& paths, std::uint64_t memory_limit,
                                               Reference& reference, const WorkerLimits& limits, unsigned jobs) {
  const auto serve = [&](std::string_view path, const WorkerPool::Mark&) {
    RunResults results;
    results.replays[std::string(path)] = replay_case_file(std::string(path), memory_limit, reference);
    return to_wire(results);
  };
  std::vector<WorkerTask> tasks;
  for (const std::string& path : paths) tasks.push_back({0, path});
  // Every old failure is looked at, however many bring their process down.
  const auto answers = WorkerPool(serve, jobs, limits).run(tasks, std::numeric_limits<unsigned>::max());
  std::vector<Replay> replays;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].death.empty()) {
      replays.push_back(results_from_wire(answers[i].reply).replays.at(paths[i]));
      continue;
    }
    const CaseFile file = load_case(paths[i], memory_limit);
    replays.push_back({paths[i], std::string(name_of(file.tensors.spec.kernel)), file.law,
                       name_of(LawOutcome::Status::fails), kernel_death(answers[i])});
  }
  return replays;
}

}  // namespace lsecheck
