#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/other_build.h"
#include "cli/output_cases.h"
#include "cli/progress_line.h"
#include "properties/case_kernel.h"
#include "properties/grade_case.h"
#include "properties/runner.h"
#include "properties/whole_file.h"
#include "reference/certified_reference.h"
#include "reports/text_table.h"

namespace lsecheck::cli {
namespace {

struct DiffOptions {
  OutputOptions cases;
  std::string against;
  std::string list;
  std::size_t show = 10;
};

constexpr std::size_t kElementsShown = 4;

[[noreturn]] void end_with(int code, const std::string& message) {
  fmt::print(stderr, "lsecheck: {}\n", message);
  throw ExitWith{code};
}

std::vector<std::string> arguments_for(const OutputOptions& options) {
  std::vector<std::string> arguments{"outputs",
                                     "--kernel",
                                     options.kernel,
                                     "--seed",
                                     std::to_string(options.seed),
                                     "--cases",
                                     std::to_string(options.cases),
                                     "--arch",
                                     options.arch,
                                     "--sfu",
                                     options.sfu,
                                     "--schedule",
                                     options.schedule,
                                     "--jobs",
                                     std::to_string(options.jobs)};
  // A build that knows none of these options takes part where nobody asks for them.
  const IsolationOptions usual;
  if (options.isolation.isolate != usual.isolate) arguments.emplace_back("--no-isolate");
  if (options.isolation.case_timeout != usual.case_timeout) {
    arguments.insert(arguments.end(), {"--case-timeout", options.isolation.case_timeout});
  }
  if (!options.file.empty()) arguments.push_back(options.file);
  return arguments;
}

// The errors of one build over the graded elements that were compared.
struct WorstErrors {
  double scaled_ulp = 0;
  double bound_use = 0;

  void add(const ElementGrade& grade) {
    scaled_ulp = std::max(scaled_ulp, grade.scaled_ulp);
    bound_use = std::max(bound_use, grade.bound_use);
  }
};

struct KernelDiff {
  std::uint64_t cases = 0;
  std::uint64_t differing_cases = 0;
  std::uint64_t elements = 0;
  std::uint64_t differing_elements = 0;
  WorstErrors here;  // over the elements that differ
  WorstErrors there;
};

std::string error_text(const CaseGrades& grades, std::size_t i) {
  if (grades.graded[i] == 0) return "held to the special-value contract";
  const ElementGrade& grade = grades.grades[i];
  return fmt::format("{:.4g} ulp, {:.4g} scaled ulp, bound_use {:.4g}", grade.ulp, grade.scaled_ulp, grade.bound_use);
}

class Difference {
 public:
  Difference(const DiffOptions& options, const OutputCases& cases) : options_(options), cases_(cases) {}

  void compare(const OutputCases::Case& here, const CaseOutput& there) {
    KernelDiff& kernel = kernels_[std::string(name_of(here.spec.kernel))];
    ++kernel.cases;
    const bool comparable = !there.out_bits.empty() && here.output.out_bits.size() == there.out_bits.size();
    if (comparable) kernel.elements += there.out_bits.size();
    if (here.output.out_bits == there.out_bits && here.output.fault == there.fault) {
      if (!there.fault.empty()) add_alike(here);
      return;
    }
    ++kernel.differing_cases;
    ++differing_cases_;
    std::string text = heading(here);
    if (here.output.variant != there.variant) {
      text += fmt::format("  this build runs variant {}, the other {}\n", here.output.variant, there.variant);
    }
    if (comparable) {
      text += elements_text(here, there, kernel);
    } else {
      text += fmt::format("  this build: {}\n  other build: {}\n", end_of(here.output), end_of(there));
    }
    text += repro_line(here);
    if (differing_cases_ <= options_.show) shown_ += "\n" + text;
  }

  bool any() const { return differing_cases_ > 0; }
  const std::string& list() const { return list_; }

  std::string text() const {
    TextTable table(
        {"kernel", "cases", "differ", "elements", "differ", "scaled_ulp here", "there", "bound_use here", "there"}, 1);
    for (const auto& [name, kernel] : kernels_) {
      table.add({name, std::to_string(kernel.cases), std::to_string(kernel.differing_cases),
                 std::to_string(kernel.elements), std::to_string(kernel.differing_elements),
                 fmt::format("{:.4g}", kernel.here.scaled_ulp), fmt::format("{:.4g}", kernel.there.scaled_ulp),
                 fmt::format("{:.4g}", kernel.here.bound_use), fmt::format("{:.4g}", kernel.there.bound_use)});
    }
    std::string text = shown_;
    if (differing_cases_ > options_.show) {
      text +=
          fmt::format("\n{} more cases differ: --show and --list FILE tell them\n", differing_cases_ - options_.show);
    }
    if (alike_ > 0) {
      text += fmt::format("\n{} cases gave no output, in both builds alike; the first:\n{}", alike_, first_alike_);
    }
    return text + (text.empty() ? "" : "\n") + table.str() + "\n" + verdict() + "\n";
  }

 private:
  std::string verdict() const {
    if (any()) return "DIFFERENT. The errors are the largest among the elements that differ.";
    if (alike_ == 0) return "EQUAL: the same cases gave the same output bits.";
    return fmt::format("EQUAL: the same cases gave the same output bits; {} of them gave none, in both builds alike.",
                       alike_);
  }

  static std::string end_of(const CaseOutput& output) {
    return output.fault.empty() ? fmt::format("{} output elements", output.out_bits.size()) : output.fault;
  }

  static std::string heading(const OutputCases::Case& here) {
    return fmt::format("{}: case {}, {}\n", name_of(here.spec.kernel), here.output.case_index,
                       describe_spec(here.spec));
  }

  // A case of a file is at hand.
  static std::string repro_line(const OutputCases::Case& here) {
    return here.output.token == "-" ? "" : fmt::format("  lsecheck repro {}\n", here.output.token);
  }

  // No difference, but nothing was compared either.
  void add_alike(const OutputCases::Case& here) {
    if (++alike_ == 1) first_alike_ = heading(here) + "  " + end_of(here.output) + "\n" + repro_line(here);
  }

  // Both outputs have the same size, and some elements.
  std::string elements_text(const OutputCases::Case& here, const CaseOutput& there, KernelDiff& kernel) {
    const CaseTensors tensors = cases_.tensors(here.output.case_index);
    const KernelVariant variant = variant_of(tensors.spec);
    const CaseGrades mine = grade_output(tensors, variant, here.output.out_bits, *reference_);
    const CaseGrades theirs = grade_output(tensors, variant, there.out_bits, *reference_);
    const std::size_t columns = columns_of(tensors.spec);
    std::string text;
    std::uint64_t differing = 0;
    for (std::size_t i = 0; i < there.out_bits.size(); ++i) {
      if (here.output.out_bits[i] == there.out_bits[i]) continue;
      ++differing;
      if (mine.graded[i] != 0) kernel.here.add(mine.grades[i]);
      if (theirs.graded[i] != 0) kernel.there.add(theirs.grades[i]);
      const std::string line =
          fmt::format("row-head {}, d {}: this build {}, {}; other {}, {}", i / columns, i % columns,
                      describe_value(tensors.spec.out, here.output.out_bits[i]), error_text(mine, i),
                      describe_value(tensors.spec.out, there.out_bits[i]), error_text(theirs, i));
      if (differing <= kElementsShown) text += "  " + line + "\n";
      if (!options_.list.empty())
        list_ += fmt::format("case {} {} {}\n", here.output.case_index, here.output.token, line);
    }
    kernel.differing_elements += differing;
    return text + fmt::format("  {} of {} elements differ\n", differing, there.out_bits.size());
  }

  const DiffOptions& options_;
  const OutputCases& cases_;
  std::unique_ptr<Reference> reference_ = make_certified_reference();
  std::map<std::string, KernelDiff> kernels_;
  std::uint64_t differing_cases_ = 0;
  std::uint64_t alike_ = 0;  // cases that have the same fault in both builds
  std::string first_alike_;
  std::string shown_;
  std::string list_;
};

// The other build as it is asked for this comparison.
OtherBuild start_other(const DiffOptions& options) {
  try {
    return OtherBuild(options.against, arguments_for(options.cases));
  } catch (const std::system_error& error) {
    for (const int machine : {EAGAIN, ENOMEM, EMFILE, ENFILE}) {
      if (error.code().value() == machine) throw;
    }
    end_with(kUsage, fmt::format("--against: {}; give the path of another build's lsecheck that can be executed",
                                 error.what()));
  }
}

// How long the other may write nothing: it may run a batch before it prints a line, at worst one case behind another
// that each take their whole time; one time more is for its start. Without isolation a case has no limit.
std::optional<std::chrono::milliseconds> silence_of(const OutputOptions& options, std::uint64_t cases) {
  const auto limits = isolation_of(options.isolation);
  if (!limits) return std::nullopt;
  return limits->task_time * static_cast<std::int64_t>(std::min(cases, kOutputBatch) + 1);
}

// Reads what the other build prints. Whatever is not as it is due ends the command.
class OtherOutputs {
 public:
  OtherOutputs(const DiffOptions& options, const OutputCases& cases)
      : options_(options), silence_(silence_of(options.cases, cases.count())), other_(start_other(options)) {}

  // Two builds are compared only where they mean the same cases.
  void take_header(const OutputCases& cases) {
    const auto line = next_line();
    const auto header = line ? parse_header(*line) : std::nullopt;
    if (!header) {
      // A program that prints something else may print it for ever: its end is not waited for.
      const std::string why = line ? "its first line is another" : text_of(other_.end());
      end_other(kUsage, fmt::format("it does not print its outputs ({}); give a build of lsecheck that has `lsecheck "
                                    "outputs`{}",
                                    why, options_.cases.file.empty() ? "" : " and reads the case file"));
    }
    const OutputsHeader own = cases.header();
    if (cases.generated() && header->generator_version != own.generator_version) {
      end_other(kOtherVersion, fmt::format("generator version {}, this is {}: the same seed gives other cases there; "
                                           "compare by case files instead (lsecheck repro TOKEN --save FILE)",
                                           header->generator_version, own.generator_version));
    }
    if (header->kernels != own.kernels) {
      end_other(kUsage, fmt::format("kernels {} there, {} here; choose one that both have with --kernel",
                                    header->kernels, own.kernels));
    }
    fmt::print("this build {} ({}), the other {} ({}), generator {}\n", own.version, own.commit, header->version,
               header->commit, own.generator_version);
  }

  CaseOutput take(const OutputCases::Case& here) {
    const std::uint64_t index = here.output.case_index;
    const auto line = next_line();
    if (!line) {
      const char* const where = other_.within_line() ? "within the line of" : "before";
      end_other(kEnvironment, fmt::format("it ended {} case {}, with {}; {}", where, index, text_of(other_.end()),
                                          run_it_by_itself()));
    }
    const auto output = parse_output(*line, here.spec.out);
    if (!output) {
      end_other(kUsage,
                fmt::format("its line for case {} is none of `lsecheck outputs`; {}", index, run_it_by_itself()));
    }
    if (output->case_index != index || output->token != here.output.token) {
      end_other(kUsage, fmt::format("another case than {} here as case {}; the two builds do not draw the same cases",
                                    here.output.token, index));
    }
    return *output;
  }

  // Outputs that are not ended as they should be may not be those of a sound run.
  void take_end(std::uint64_t count) {
    const std::string due = format_end(count);
    const auto line = next_line();
    if (line && *line != due) end_other(kUsage, not_ended_by(due));
    if (line && (next_line() || other_.within_line())) {
      end_other(kUsage, fmt::format("it goes on behind its line '{}'; {}", due, run_it_by_itself()));
    }
    const bool within_line = !line && other_.within_line();
    const ChildEnd end = other_.end();
    if (within_line) {
      end_other(kEnvironment,
                fmt::format("it ended within its last line, with {}; {}", text_of(end), run_it_by_itself()));
    }
    if (end.timed_out || !end.clean()) {
      end_other(kEnvironment,
                fmt::format("it ended with {} behind its last case; {}", text_of(end), run_it_by_itself()));
    }
    if (!line) end_other(kUsage, not_ended_by(due));
  }

 private:
  static std::string text_of(const ChildEnd& end) {
    return end.timed_out ? "its output closed but no exit" : end.text();
  }

  [[noreturn]] void end_other(int code, const std::string& message) const {
    end_with(code, fmt::format("--against {}: {}", options_.against, message));
  }

  std::optional<std::string> next_line() {
    auto line = other_.line(silence_);
    if (other_.silent()) {
      end_other(kEnvironment, fmt::format("it printed nothing for {} s; {}, or give a longer --case-timeout",
                                          silence_->count() / 1000, run_it_by_itself()));
    }
    return line;
  }

  std::string not_ended_by(const std::string& due) const {
    return fmt::format("the line '{}' is due behind its last case; {}", due, run_it_by_itself());
  }

  std::string run_it_by_itself() const {
    std::string text = "run it by itself: " + options_.against;
    for (const std::string& argument : arguments_for(options_.cases)) {
      text += argument.find('*') == std::string::npos ? " " + argument : " '" + argument + "'";
    }
    return text;
  }

  const DiffOptions& options_;
  std::optional<std::chrono::milliseconds> silence_;
  OtherBuild other_;
};

void diff(const DiffOptions& options) {
  OutputCases cases(options.cases);
  if (!options.list.empty()) check_file_writable(options.list);  // unwritable is found out first
  OtherOutputs other(options, cases);
  other.take_header(cases);
  Difference difference(options, cases);
  ProgressLine progress;
  for (std::uint64_t begin = 0; begin < cases.count(); begin += kOutputBatch) {
    for (const OutputCases::Case& here : cases.run(begin, std::min(begin + kOutputBatch, cases.count()))) {
      difference.compare(here, other.take(here));
    }
    if (progress.due()) progress.show(fmt::format("{} / {} cases", begin, cases.count()));
  }
  other.take_end(cases.count());
  progress.end();
  const std::string text = difference.text();
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!options.list.empty()) write_file_atomically(options.list, difference.list());
  if (difference.any()) throw ExitWith{kFailed};
}

}  // namespace

void add_diff_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("diff", "run the same cases in another build of lsecheck and report every bit that differs");
  const auto options = std::make_shared<DiffOptions>();
  command->add_option("--against", options->against, "the other build's lsecheck")->type_name("PROGRAM")->required();
  add_output_options(*command, options->cases);
  command->add_option("--show", options->show, "cases that are shown in full")->type_name("N")->capture_default_str();
  command->add_option("--list", options->list, "write every element that differs, one a line")->type_name("FILE");
  command->footer(
      "exit codes: 0 every output bit is the same; 1 some differ; 2 the other program does not take part; 4 it failed, "
      "or "
      "printed nothing for as long as a batch of cases may take (--case-timeout for each); 125 it is of another "
      "generator version\n"
      "examples:\n  lsecheck diff --against ../before/build/release/cli/lsecheck\n"
      "  lsecheck diff --against ../before/build/release/cli/lsecheck --kernel 'mla*' --cases 20000 --list bits.txt\n"
      "  lsecheck diff --against ../before/build/release/cli/lsecheck case.safetensors");
  command->callback([options] { diff(*options); });
}

}  // namespace lsecheck::cli
