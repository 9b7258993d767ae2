#include "properties/plugin/loaded_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "kernels/sfu/splitmix64.h"
#include "properties/run_case.h"
#include "properties/whole_file.h"

namespace lsecheck {
namespace {

using PluginFunction = const lsecheck_plugin* (*)();

const PluginDescription* description_of_loaded = nullptr;
std::string build_of_loaded;

std::uint64_t digest_of(const std::string& bytes) {
  std::uint64_t digest = bytes.size();
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof word, bytes.size() - i));
    digest = sfu::splitmix64(digest ^ sfu::splitmix64(word));
  }
  return digest;
}

[[noreturn]] void fail(const std::string& file, const std::string& why) {
  throw FileError(FileErrorKind::unreadable, file, why);
}

// Without the name that FileError begins with anyway.
std::string last_loader_error(const std::string& path) {
  const char* const error = ::dlerror();
  const std::string text = error == nullptr ? "it cannot be loaded" : error;
  return text.starts_with(path + ": ") ? text.substr(path.size() + 2) : text;
}

PluginFunction function_of(void* object) {
  return reinterpret_cast<PluginFunction>(::dlsym(object, "lsecheck_plugin_v1"));
}

constexpr int kTried = 85;  // no exit code of a plugin's own

// Loads it in this process, a child, and looks at all that it points to.
[[noreturn]] void load_in_child(const std::string& path) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  void* const object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (const PluginFunction function = object == nullptr ? nullptr : function_of(object)) {
    try {
      describe_plugin(function());
    } catch (const std::invalid_argument&) {  // told by who loads it next
    }
  }
  ::_exit(kTried);
}

// Code at load runs in the main process with nothing around it, and may crash it or end it with any exit code: a child
// goes first.
void try_in_child(const std::string& file, const std::string& path) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw FileError(FileErrorKind::environment, file, "no process to load it in; end some others");
  if (child == 0) load_in_child(path);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    fail(file, fmt::format("it crashes while it is loaded: {}; see to its constructors and lsecheck_plugin_v1()",
                           ::strsignal(WTERMSIG(status))));
  }
  if (WEXITSTATUS(status) != kTried) {
    fail(file, fmt::format("it ends the process while it is loaded, with exit code {}; see to its constructors and "
                           "lsecheck_plugin_v1()",
                           WEXITSTATUS(status)));
  }
}

// Loading runs the object's constructors, which may leave the processor in another mode.
std::unique_ptr<const PluginKernel> load(const std::string& file) {
  // A name without a slash would be looked for among the system's libraries.
  const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
  try_in_child(file, path);
  std::fenv_t ours;
  std::fegetenv(&ours);
  void* const object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const std::string error = object == nullptr ? last_loader_error(path) : "";
  const PluginFunction function = object == nullptr ? nullptr : function_of(object);
  const lsecheck_plugin* const plugin = function == nullptr ? nullptr : function();
  std::fenv_t its;
  std::fegetenv(&its);
  std::fesetenv(&ours);
  if (object == nullptr) fail(file, error);
  if (function == nullptr) {
    fail(file, "it exports no lsecheck_plugin_v1(); build it with lsecheck_plugin.h, and as C where it is C++");
  }
  try {
    return std::make_unique<const PluginKernel>(plugin, its);
  } catch (const std::invalid_argument& invalid) {
    fail(file, invalid.what());
  }
}

// exit() in the plugin would look like the end of a run that found nothing.
void end_of_process_is_watched() {
  static const int registered = std::atexit([] {
    if (!PluginKernel::in_call()) return;
    std::fputs("lsecheck: the plugin called exit() in combine(); let it return\n", stderr);
    ::_exit(1);
  });
  if (registered != 0) throw std::runtime_error("no handler for the end of the program can be registered");
}

}  // namespace

LoadedPlugin::LoadedPlugin(const std::string& file)
    : kernel_(load(file)), registered_(std::make_unique<KernelBeside>(*kernel_)) {
  description_of_loaded = &kernel_->description();
  build_of_loaded = fmt::format("{}@{:016x}", description_of_loaded->name, digest_of(read_whole_text(file)));
  end_of_process_is_watched();
  use_backend(Backend::plugin);
}

LoadedPlugin::~LoadedPlugin() {
  description_of_loaded = nullptr;
  use_backend(Backend::cpu);
}

const PluginDescription* loaded_plugin() {
  return description_of_loaded;
}

std::string loaded_plugin_build() {
  return build_of_loaded;
}

}  // namespace lsecheck
