#include "properties/replay_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <stdexcept>

#include "kernels/cuda/cuda_backend.h"
#include "properties/case_kernel.h"
#include "properties/failure_shrink.h"
#include "properties/kernel_death.h"
#include "properties/replay_shrink.h"
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

// Failures of a kernel that are made small; the others stay as they are. A broken kernel fails most inputs, and a few
// small ones tell as much.
constexpr std::size_t kShrunkPerKernel = 4;

bool fails(const Replay& replay) {
  return replay.outcome == name_of(LawOutcome::Status::fails);
}

std::string case_file_of(const ReplaySource& source, const Replay& replay) {
  return fmt::format("{}/corpus-{}.safetensors", source.case_files,
                     std::filesystem::path(replay.file).filename().string());
}

void keep_case(const ReplaySource& source, const SmallCase& small, Replay& replay) {
  replay.message = small.message;
  replay.case_file = case_file_of(source, replay);
  std::filesystem::create_directories(source.case_files);
  save_case(replay.case_file, {small.tensors, replay.law, "", kGeneratorVersion});
}

CaseTensors given_case(const ReplaySource& source, const Replay& replay) {
  return source.load(replay.file).value().tensors;
}

void keep_as_given(const ReplaySource& source, const std::string& why, Replay& replay) {
  keep_case(source, {given_case(source, replay), replay.message + "\nnot made smaller: " + why}, replay);
}

void keep_shrunk_by_law(const ReplaySource& source, Reference& reference, Replay& replay) {
  const Law& law = *find_law(replay.law);
  keep_case(source, shrunk_by_law(given_case(source, replay), replay.message, law, reference), replay);
}

// Keeps what `lsecheck repro` takes to look at the failures again. `shrink` keeps those whose places among the replays
// it is given.
template <class Shrink>
void keep_cases(const ReplaySource& source, std::vector<Replay>& replays, const Shrink& shrink) {
  std::map<std::string, std::size_t> of_kernel;
  std::vector<std::size_t> to_shrink;
  for (std::size_t i = 0; i < replays.size(); ++i) {
    Replay& replay = replays[i];
    if (source.case_files.empty()) {
      replay.case_file = replay.file;
    } else if (fails(replay) && of_kernel[replay.kernel]++ < kShrunkPerKernel) {
      to_shrink.push_back(i);
    } else if (fails(replay)) {
      keep_as_given(source, fmt::format("{} other failures of this kernel were", kShrunkPerKernel), replay);
    }
  }
  shrink(to_shrink);
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
  replays.reserve(paths.size());
  for (const std::string& path : paths) replays.push_back(replay_one(path, source, reference, [](LawId) {}));
  keep_cases(source, replays, [&](const std::vector<std::size_t>& places) {
    for (const std::size_t i : places) keep_shrunk_by_law(source, reference, replays[i]);
  });
  return replays;
}

namespace {

// Of replays in other processes.
class IsolatedReplays {
 public:
  IsolatedReplays(const ReplaySource& source, Reference& reference, const WorkerLimits& limits, unsigned jobs)
      : source_(source), reference_(reference), limits_(limits), jobs_(jobs) {}

  std::vector<Replay> run(const std::vector<std::string>& paths) {
    const auto serve = [&](std::string_view path, const WorkerPool::Mark& mark) {
      RunResults results;
      results.replays[std::string(path)] =
          replay_one(std::string(path), source_, reference_, [&](LawId law) { mark(mark_of(law)); });
      return to_wire(results);
    };
    std::vector<WorkerTask> tasks;
    tasks.reserve(paths.size());
    for (const std::string& path : paths) tasks.push_back({group_of(path, source_), path});
    take(tasks, WorkerPool(serve, jobs_, limits_).run(tasks, source_.give_up));
    keep_cases(source_, replays_, [this](const std::vector<std::size_t>& places) { shrink(places); });
    return std::move(replays_);
  }

 private:
  void take(const std::vector<WorkerTask>& tasks, const std::vector<WorkerAnswer>& answers) {
    std::map<std::size_t, unsigned> lost_of_group;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const std::string& path = tasks[i].request;
      unsigned& lost = lost_of_group[tasks[i].group];
      // Workers may have gone on behind the last death of a kernel; what they found is not kept, so that the results do
      // not depend on the number of jobs.
      if (lost >= source_.give_up) {
        replays_.push_back(not_replayed(path, source_));
      } else if (answers[i].death.empty()) {
        replays_.push_back(results_from_wire(answers[i].reply).replays.at(path));
      } else {
        ++lost;
        deaths_[i] = answers[i];
        replays_.push_back(dead_replay(path, source_, answers[i]));
      }
    }
  }

  // In workers, too: a smaller case may bring its process down.
  void shrink(const std::vector<std::size_t>& places) {
    std::vector<WorkerTask> tasks;
    std::vector<std::size_t> place_of_task;
    for (const std::size_t i : places) {
      if (const auto death = deaths_.find(i); death != deaths_.end()) {
        const Law& law = *find_law(replays_[i].law);
        keep_case(source_, shrunk_by_death(given_case(source_, replays_[i]), death->second, law, limits_, reference_),
                  replays_[i]);
        continue;
      }
      tasks.push_back({group_of(replays_[i].file, source_), std::to_string(i), kShrinkPatience});
      place_of_task.push_back(i);
    }
    const auto serve = [this](std::string_view place, const WorkerPool::Mark&) {
      Replay& replay = replays_[std::stoull(std::string(place))];
      keep_shrunk_by_law(source_, reference_, replay);
      return replay.message;
    };
    constexpr unsigned kNever = std::numeric_limits<unsigned>::max();
    const auto answers = WorkerPool(serve, jobs_, limits_).run(tasks, kNever);
    for (std::size_t t = 0; t < answers.size(); ++t) {
      Replay& replay = replays_[place_of_task[t]];
      if (answers[t].death.empty()) {
        replay.message = answers[t].reply;
        replay.case_file = case_file_of(source_, replay);
      } else {
        keep_as_given(source_, "a smaller case " + answers[t].death, replay);
      }
    }
  }

  const ReplaySource& source_;
  Reference& reference_;
  const WorkerLimits limits_;
  unsigned jobs_;
  std::vector<Replay> replays_;
  std::map<std::size_t, WorkerAnswer> deaths_;  // of the replays at these places
};

}  // namespace

std::vector<Replay> replay_case_files_isolated(const std::vector<std::string>& paths, const ReplaySource& source,
                                               Reference& reference, const WorkerLimits& limits, unsigned jobs) {
  return IsolatedReplays(source, reference, limits, jobs).run(paths);
}

}  // namespace lsecheck
