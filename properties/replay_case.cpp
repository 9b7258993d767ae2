#include "properties/replay_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "kernels/cuda/cuda_backend.h"
#include "properties/case_kernel.h"
#include "properties/kernel_death.h"
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

constexpr std::string_view kEveryLaw = "every law";

// Holds the case to its laws until one fails. `beginning` is told of each.
void hold(const CaseFile& file, const std::vector<const Law*>& laws, Reference& reference,
          const std::function<void(LawId)>& beginning, Replay& replay) {
  const CaseTensors tensors = bucketed(file.tensors);
  auto worst = LawOutcome::Status::not_applicable;
  for (const Law* const law : laws) {
    beginning(law->id);
    const LawOutcome outcome = check_guarded(*law, tensors, reference);
    const bool applies = outcome.status != LawOutcome::Status::not_applicable;
    if (!applies && worst == LawOutcome::Status::holds) continue;
    worst = outcome.status;
    replay.message = outcome.message;
    if (worst != LawOutcome::Status::fails) continue;
    replay.law = law->name;
    break;
  }
  replay.outcome = name_of(worst);
}

Replay replay_one(const std::string& path, const ReplaySource& source, Reference& reference,
                  const std::function<void(LawId)>& beginning) {
  Replay replay{path, source.origin, "", "", "unreadable", "", ""};
  try {
    const std::optional<CaseFile> file = source.load(path);
    if (!file) {
      replay.outcome = name_of(LawOutcome::Status::not_applicable);
      replay.message = "no kernel of this run takes it";
      return replay;
    }
    replay.kernel = name_of(file->tensors.spec.kernel);
    replay.law = file->law.empty() ? kEveryLaw : file->law;
    std::vector<const Law*> laws = source.laws;
    if (!file->law.empty()) laws = {find_law(file->law)};
    if (!laws.empty() && laws.front() == nullptr) {
      replay.message = fmt::format("law '{}' is not known here", file->law);
      return replay;
    }
    if (const std::string refusal = refusal_by_device(file->tensors.spec); !refusal.empty()) {
      replay.outcome = name_of(LawOutcome::Status::not_applicable);
      replay.message = refusal;
      return replay;
    }
    hold(*file, laws, reference, beginning, replay);
  } catch (const FileError& error) {
    replay.message = error.what();
  }
  return replay;
}

// What `lsecheck repro` takes to look at the failure again.
void keep_case(const ReplaySource& source, Replay& replay) {
  if (source.case_files.empty()) {
    replay.case_file = replay.file;
    return;
  }
  if (replay.outcome != name_of(LawOutcome::Status::fails)) return;
  CaseFile file = source.load(replay.file).value();
  file.law = replay.law;
  std::filesystem::create_directories(source.case_files);
  replay.case_file = fmt::format("{}/corpus-{}.safetensors", source.case_files,
                                 std::filesystem::path(replay.file).filename().string());
  save_case(replay.case_file, file);
}

// Tasks of one kernel are a group, so that a kernel can be given up; 0 where the file does not tell.
std::size_t group_of(const std::string& path, const ReplaySource& source) {
  try {
    const std::optional<CaseFile> file = source.load(path);
    return file ? static_cast<std::size_t>(file->tensors.spec.kernel) + 1 : 0;
  } catch (const FileError&) {
    return 0;
  }
}

Replay dead_replay(const std::string& path, const ReplaySource& source, const WorkerAnswer& answer) {
  const CaseFile file = source.load(path).value();
  std::string law = file.law;
  if (law.empty()) law = law_at_death(answer, source.laws)->name;
  return {path,
          source.origin,
          std::string(name_of(file.tensors.spec.kernel)),
          law,
          name_of(LawOutcome::Status::fails),
          "",
          kernel_death(answer)};
}

// Behind the deaths after which its kernel is given up.
Replay not_replayed(const std::string& path, const ReplaySource& source) {
  return {
      path, source.origin, "", "", name_of(LawOutcome::Status::not_applicable), "", kernel_given_up(source.give_up)};
}

}  // namespace

std::vector<std::string> files_in(const std::string& folder, const std::string& extension) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(folder)) {
    throw std::invalid_argument(fmt::format("{} is no folder; create it, or give another one", folder));
  }
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const bool wanted = extension.empty() || entry.path().extension() == extension;
    if (entry.is_regular_file() && wanted) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

ReplaySource old_failures(std::uint64_t memory_limit) {
  ReplaySource source;
  source.origin = kOldFailure;
  source.load = [memory_limit](const std::string& path) { return load_case(path, memory_limit); };
  return source;
}

std::vector<Replay> replay_case_files(const std::vector<std::string>& paths, const ReplaySource& source,
                                      Reference& reference) {
  std::vector<Replay> replays;
  for (const std::string& path : paths) {
    replays.push_back(replay_one(path, source, reference, [](LawId) {}));
    keep_case(source, replays.back());
  }
  return replays;
}

std::vector<Replay> replay_case_files_isolated(const std::vector<std::string>& paths, const ReplaySource& source,
                                               Reference& reference, const WorkerLimits& limits, unsigned jobs) {
  const auto serve = [&](std::string_view path, const WorkerPool::Mark& mark) {
    RunResults results;
    results.replays[std::string(path)] =
        replay_one(std::string(path), source, reference, [&](LawId law) { mark(mark_of(law)); });
    return to_wire(results);
  };
  std::vector<WorkerTask> tasks;
  tasks.reserve(paths.size());
  for (const std::string& path : paths) tasks.push_back({group_of(path, source), path});
  const auto answers = WorkerPool(serve, jobs, limits).run(tasks, source.give_up);
  std::vector<Replay> replays;
  std::map<std::size_t, unsigned> deaths;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    unsigned& lost = deaths[tasks[i].group];
    // Workers may have gone on behind the last death of a kernel; what they found is not kept, so that the results do
    // not depend on the number of jobs.
    if (lost >= source.give_up) {
      replays.push_back(not_replayed(paths[i], source));
    } else if (answers[i].death.empty()) {
      replays.push_back(results_from_wire(answers[i].reply).replays.at(paths[i]));
    } else {
      ++lost;
      replays.push_back(dead_replay(paths[i], source, answers[i]));
    }
    keep_case(source, replays.back());
  }
  return replays;
}

}  // namespace lsecheck
