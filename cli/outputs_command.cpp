#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/output_cases.h"

namespace lsecheck::cli {
namespace {

void print_line(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);  // main() looks for write errors
  std::fputc('\n', stdout);
}

void outputs(const OutputOptions& options) {
  OutputCases cases(options);
  print_line(format_header(cases.header()));
  std::fflush(stdout);  // whoever reads it may not want the rest
  for (std::uint64_t begin = 0; begin < cases.count(); begin += kOutputBatch) {
    for (const OutputCases::Case& one : cases.run(begin, std::min(begin + kOutputBatch, cases.count()))) {
      print_line(format_output(one.output, one.spec.out));
    }
  }
  print_line(format_end(cases.count()));
}

}  // namespace

void add_outputs_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("outputs", "print the output bits of cases, for `lsecheck diff`");
  const auto options = std::make_shared<OutputOptions>();
  add_output_options(*command, *options);
  command->footer(
      "The first line names the format and the build: lsecheck-outputs 1 generator=... version=... commit=... "
      "kernels=...; then 'CASE TOKEN VARIANT BITS' for each case, the bits of every output element in hexadecimal, 4 "
      "or "
      "8 digits each, or '! FAULT' in their place ('! crashed: Segmentation fault'); the "
      "last line is 'end CASES'.");
  command->callback([options] { outputs(*options); });
}

}  // namespace lsecheck::cli
