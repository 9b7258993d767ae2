#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "properties/recorded_check.h"
#include "properties/safetensors.h"
#include "reference/certified_reference.h"

namespace lsecheck::cli {
namespace {

struct CheckOptions {
  std::string file;
  std::string domain = "log2";
  std::string combine = "flat";
  std::string intermediate = "f32";
  std::uint64_t memory = std::uint64_t{4} << 30;
};

std::string bits_text(DType type, std::uint32_t bits) {
  return fmt::format("0x{:0{}x} = {:.9g}", bits, 2 * size_of(type), decode(type, bits));
}

std::string finding_text(const RecordedTensors& tensors, const Finding& finding) {
  const DType type = finding.is_lse ? *tensors.out_lse->dtype : *tensors.out->dtype;
  std::string text = fmt::format("  {} {}: got {}", tensors.row_text(finding.row_head),
                                 finding.is_lse ? "out_lse" : fmt::format("d {}", finding.depth_index),
                                 bits_text(type, finding.got_bits));
  switch (finding.kind) {
    case FindingKind::outside_bound:
      return text + fmt::format(", exact {:.9g}, correctly rounded {}; {:.4g} ulp, {:.4g} times the bound {:.3g}\n",
                                finding.exact, bits_text(type, finding.correctly_rounded), finding.ulp,
                                finding.bound_use, finding.bound);
    case FindingKind::not_finite:
    case FindingKind::undecided:
      return text + fmt::format(", exact {:.9g}: {}\n", finding.exact, name_of(finding.kind));
    case FindingKind::not_nan:
    case FindingKind::all_empty_not_zero:
      break;
  }
  return text + fmt::format(": {}\n", name_of(finding.kind));
}

std::string header_text(const CheckOptions& options, const RecordedTensors& tensors) {
  return fmt::format(
      "{}: P {}, {} row-heads, D {}; o_partial {}, lse_partial {} ({}), out {}\n"
      "error model: {}, intermediate {}\n",
      options.file, tensors.num_partitions, tensors.rows_heads, tensors.depth, tensors.o_partial->dtype_name,
      tensors.lse_partial->dtype_name, options.domain, tensors.out->dtype_name, options.combine, options.intermediate);
}

std::string verdict_text(const RecordedTensors& tensors, const CheckReport& report) {
  std::string text =
      fmt::format("graded {} elements of out and {} of out_lse; largest finite error of out: {:.3g} of its bound\n",
                  report.graded_elements, report.graded_lse, report.largest_bound_use);
  if (report.all_empty_rows > 0) text += fmt::format("{} rows with every partition empty\n", report.all_empty_rows);
  if (report.special_rows > 0) {
    text += fmt::format("not graded: {} rows with NaN or +inf among the LSEs\n", report.special_rows);
  }
  if (report.unbounded_rows > 0) {
    text += fmt::format("not graded: {} rows where this error model has no finite bound\n", report.unbounded_rows);
  }
  if (report.loose_elements > 0) {
    text += fmt::format("in {} elements the bound of this error model exceeds every input: it says little there\n",
                        report.loose_elements);
  }
  if (report.clean()) return text + "all inside the bound\n";
  text += fmt::format("OUTSIDE: {} elements in {} rows; the worst {}:\n", report.failing_elements, report.failing_rows,
                      report.worst.size());
  for (const Finding& finding : report.worst) text += finding_text(tensors, finding);
  text += fmt::format("likely causes, from the first {} failing rows of out:\n", report.rows_tried_for_causes);
  for (const Cause& cause : report.causes) text += fmt::format("  fits {} rows: {}\n", cause.rows_fit, cause.text);
  return report.causes.empty() ? text + "  none that is known here fits\n" : text;
}

ErrorModel error_model(const CheckOptions& options) {
  return {.base = options.domain == "ln" ? ExponentBase::natural : ExponentBase::log2,
          .combine = parse_combine_class(options.combine).value(),
          .intermediate = parse_dtype(options.intermediate).value()};
}

void check(const CheckOptions& options) {
  const SafetensorsFile file = read_safetensors(options.file, options.memory);
  const RecordedTensors tensors = recorded_tensors(file);
  const std::uint64_t needed = file.size_in_bytes() + working_bytes(tensors);
  if (needed > options.memory) {
    throw FileError(FileErrorKind::unreadable, options.file,
                    fmt::format("checking it takes {} bytes, more than the memory limit of {}; raise --memory", needed,
                                options.memory));
  }
  const auto reference = make_certified_reference();
  const CheckReport report = check_recorded(tensors, error_model(options), *reference);
  if (report.graded_elements == 0) {
    throw FileError(FileErrorKind::unreadable, options.file,
                    fmt::format("nothing can be graded: {} rows have NaN or +inf LSEs, {} no finite bound in the error "
                                "model; name the kernel's own --combine and --intermediate",
                                report.special_rows, report.unbounded_rows));
  }
  const std::string text = header_text(options, tensors) + verdict_text(tensors, report);
  std::fwrite(text.data(), 1, text.size(), stdout);  // main() looks for write errors
  if (!report.clean()) throw ExitWith{kFailed};
}

constexpr const char* kFooter =
    "FILE holds lse_partial [P, rows, heads], o_partial [P, rows, heads, D], out [rows, heads, D] and optionally "
    "out_lse "
    "[rows, heads], each BF16, F16 or F32; rows and heads may be one dimension. No kernel is run. The bound is the "
    "worst "
    "case over every algorithm of the class in any order, so a correct kernel of the class is never outside.\n"
    "exit codes: 0 all inside the bound; 1 some outside; 2 usage or unreadable input; 4 environment";

}  // namespace

void add_check_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("check", "grade recorded inputs and outputs of any combine kernel");
  const auto options = std::make_shared<CheckOptions>();
  command->add_option("FILE", options->file, "a .safetensors file of recorded tensors")->required();
  command->add_option("--lse-domain", options->domain, "log2 or ln: what the recorded LSEs are (default: log2)")
      ->check(CLI::IsMember({"log2", "ln"}))
      ->type_name("DOMAIN");
  command
      ->add_option("--combine", options->combine,
                   "flat, online or pairwise: the class of the kernel's algorithm (default: flat)")
      ->check(CLI::IsMember({"flat", "online", "pairwise"}))
      ->type_name("CLASS");
  command
      ->add_option("--intermediate", options->intermediate,
                   "f32, bf16 or f16: what numbers are stored in between two steps (default: f32)")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->type_name("TYPE");
  constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 50;
  command->add_option("--memory", options->memory, "refuse what takes more; 500M, 4G (default: 4G)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, kMostMemory))
      ->type_name("SIZE");
  command->footer(kFooter);
  command->callback([options] { check(*options); });
}

}  // namespace lsecheck::cli
