#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "properties/whole_file.h"

namespace lsecheck::cli {
namespace {

std::string help_of(const CLI::App& command, const std::string& name) {
  // Not command.help(): that is the help of the sub-command in use, which is this one.
  const std::string help = command.get_formatter()->make_help(&command, name, CLI::AppFormatMode::Normal);
  return help.substr(0, help.find_last_not_of('\n') + 1);
}

// Every --help as one page of Markdown.
std::string manual_text(const CLI::App& app) {
  std::string text = fmt::format(
      "# Manual of lsecheck\n\nMade by `lsecheck docs` from the `--help` of every command; edit "
      "those.\n\n```\n{}\n```\n",
      help_of(app, app.get_name()));
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    const std::string name = app.get_name() + " " + command->get_name();
    text += fmt::format("\n## {}\n\n```\n{}\n```\n", name, help_of(*command, name));
  }
  return text;
}

}  // namespace

void add_docs_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("docs", "print the manual: the help of every command, as Markdown");
  const auto out = std::make_shared<std::string>();
  command->add_option("--out", *out, "write to this file, whole or not at all (default: standard output)")
      ->type_name("FILE");
  command->footer("examples:\n  lsecheck docs\n  lsecheck docs --out cli/manual.md");
  command->callback([&app, out] {
    const std::string text = manual_text(app);
    if (out->empty()) {
      std::fwrite(text.data(), 1, text.size(), stdout);
    } else {
      write_file_atomically(*out, text);
    }
  });
}

}  // namespace lsecheck::cli
