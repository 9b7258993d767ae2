#include "reports/gnuplot.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

namespace lsecheck {
namespace {

// The size is a ratio: the page scales figures to its width.
constexpr const char* kTerminal = "set terminal svg size 480,260 noenhanced font 'sans-serif,11'\n";

// gnuplot draws black lines and text; in a dark page they turn light.
constexpr const char* kDarkScheme =
    "<style>@media(prefers-color-scheme:dark){"
    "g[color=black],g[color=\"#000000\"]{color:#c9ced6}g[fill=black],text{fill:#c9ced6}[stroke=black]{stroke:#c9ced6}}<"
    "/style>";

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

std::string content_of(std::FILE* file) {
  std::rewind(file);
  std::string text;
  char block[1 << 16];
  for (std::size_t n = 0; (n = std::fread(block, 1, sizeof block, file)) > 0;) text.append(block, n);
  return text;
}

// Standard output of gnuplot for this script. Files carry both directions: with pipes, each side could wait for the
// other. -d: no start-up file of the user's changes the figures.
std::optional<std::string> run_gnuplot(const std::string& script) {
  const OpenFile in(std::tmpfile());
  const OpenFile out(std::tmpfile());
  if (!in || !out) return std::nullopt;
  if (std::fwrite(script.data(), 1, script.size(), in.get()) != script.size()) return std::nullopt;
  std::fflush(in.get());
  std::rewind(in.get());
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", 1, 0);
  std::string name = "gnuplot";
  std::string quiet = "-d";
  char* const arguments[] = {name.data(), quiet.data(), nullptr};
  pid_t child = 0;
  const int refused = posix_spawnp(&child, "gnuplot", &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  if (refused != 0) return std::nullopt;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return content_of(out.get());
}

// gnuplot writes its figures one after the other, each from "<?xml" to "</svg>".
std::vector<std::string> svgs_in(const std::string& text) {
  std::vector<std::string> figures;
  for (std::size_t at = text.find("<svg"); at != std::string::npos; at = text.find("<svg", at)) {
    const std::size_t end = text.find("</svg>", at);
    if (end == std::string::npos) break;
    std::string svg = text.substr(at, end + 6 - at);
    const std::size_t head = svg.find('>');
    if (head != std::string::npos) svg.insert(head + 1, kDarkScheme);
    figures.push_back(std::move(svg));
    at = end;
  }
  return figures;
}

}  // namespace

std::string gnuplot_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += '\'';
    quoted += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return quoted + "'";
}

std::optional<std::vector<std::string>> gnuplot_figures(const std::vector<std::string>& scripts) {
  if (scripts.empty()) return std::vector<std::string>{};
  std::string all = kTerminal;
  for (const std::string& script : scripts) all += "reset\n" + script + "\n";
  const std::optional<std::string> output = run_gnuplot(all);
  if (!output) return std::nullopt;
  std::vector<std::string> figures = svgs_in(*output);
  if (figures.size() != scripts.size()) return std::nullopt;
  return figures;
}

std::string svg_address(const std::string& svg) {
  std::string address = "data:image/svg+xml,";
  for (const char c : svg) {
    switch (c) {
      case '%':
        address += "%25";
        break;
      case '#':
        address += "%23";
        break;
      case '"':
        address += "%22";
        break;
      case '&':
        address += "%26";
        break;
      case '<':
        address += "%3C";
        break;
      case '>':
        address += "%3E";
        break;
      default:
        address += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return address;
}

}  // namespace lsecheck
