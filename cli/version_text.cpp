#include "cli/version_text.h"

#include <fmt/format.h>

#include "build_version.h"
#include "kernels/sfu/sfu.h"
#include "properties/case_spec.h"

namespace lsecheck::cli {

std::string version_text() {
  return fmt::format(
      "lsecheck {}\n"
      "commit             {}\n"
      "generator version  {}\n"
      "sfu table digest   {:016x}\n"
      "compiler           {}\n"
      "flags              {}",
      kProjectVersion, kBuildCommit, kGeneratorVersion, sfu::table_digest(), kBuildCompiler, kBuildFlags);
}

}  // namespace lsecheck::cli
