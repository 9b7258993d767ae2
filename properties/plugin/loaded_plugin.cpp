#include "properties/plugin/loaded_plugin.h"

#include <dlfcn.h>

#include <cfenv>
#include <stdexcept>

#include "properties/run_case.h"
#include "properties/whole_file.h"

namespace lsecheck {
namespace {

using PluginFunction = const lsecheck_plugin* (*)();

const PluginDescription* description_of_loaded = nullptr;

[[noreturn]] void fail(const std::string& file, const std::string& why) {
  throw FileError(FileErrorKind::unreadable, file, why);
}

// Without the name that FileError begins with anyway.
std::string last_loader_error(const std::string& path) {
  const char* const error = ::dlerror();
  const std::string text = error == nullptr ? "it cannot be loaded" : error;
  return text.starts_with(path + ": ") ? text.substr(path.size() + 2) : text;
}

// Loading runs the object's constructors, which may leave the processor in another mode.
std::unique_ptr<const PluginKernel> load(const std::string& file) {
  // A name without a slash would be looked for among the system's libraries.
  const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
  std::fenv_t ours;
  std::fegetenv(&ours);
  void* const object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const std::string error = object == nullptr ? last_loader_error(path) : "";
  void* const symbol = object == nullptr ? nullptr : ::dlsym(object, "lsecheck_plugin_v1");
  const lsecheck_plugin* const plugin = symbol == nullptr ? nullptr : reinterpret_cast<PluginFunction>(symbol)();
  std::fenv_t its;
  std::fegetenv(&its);
  std::fesetenv(&ours);
  if (object == nullptr) fail(file, error);
  if (symbol == nullptr) {
    fail(file, "it exports no lsecheck_plugin_v1(); build it with lsecheck_plugin.h, and as C where it is C++");
  }
  try {
    return std::make_unique<const PluginKernel>(plugin, its);
  } catch (const std::invalid_argument& invalid) {
    fail(file, invalid.what());
  }
}

}  // namespace

LoadedPlugin::LoadedPlugin(const std::string& file)
    : kernel_(load(file)), registered_(std::make_unique<KernelBeside>(*kernel_)) {
  description_of_loaded = &kernel_->description();
  use_backend(Backend::plugin);
}

LoadedPlugin::~LoadedPlugin() {
  description_of_loaded = nullptr;
  use_backend(Backend::cpu);
}

const PluginDescription* loaded_plugin() {
  return description_of_loaded;
}

}  // namespace lsecheck
