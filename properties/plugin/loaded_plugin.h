#pragma once

#include <memory>
#include <string>

#include "kernels/registry.h"
#include "properties/plugin/plugin_kernel.h"

namespace lsecheck {

// As long as it lives, the kernel of a shared object (lsecheck_plugin.h) is registered as KernelId::plugin and every
// run is on Backend::plugin. One at a time, made before the first case and before worker processes. The object's code
// stays mapped when it ends, for it may have threads or devices of its own.
class LoadedPlugin {
 public:
  // file: a path, which is looked for nowhere else. Throws FileError (unreadable).
  explicit LoadedPlugin(const std::string& file);
  ~LoadedPlugin();
  LoadedPlugin(const LoadedPlugin&) = delete;
  LoadedPlugin& operator=(const LoadedPlugin&) = delete;

  const PluginDescription& description() const { return kernel_->description(); }

 private:
  std::unique_ptr<const PluginKernel> kernel_;
  std::unique_ptr<const KernelBeside> registered_;
};

// What the living LoadedPlugin says of itself; nullptr: there is none.
const PluginDescription* loaded_plugin();
// Its name and a digest of its file, "mine@0123456789abcdef": results of another build of it are not of the same
// kernel.
std::string loaded_plugin_build();

}  // namespace lsecheck
