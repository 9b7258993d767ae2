#include "fuzz/file_failure.h"

#include <filesystem>

#include "properties/case_file.h"
#include "properties/runner.h"

namespace lsecheck {

void add_file_failure(RunResults& results, const CaseTensors& tensors, const std::string& found_as,
                      const std::string& message, const std::string& path) {
  const std::string kernel(name_of(tensors.spec.kernel));
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  save_case(path, {tensors, "accuracy", "", kGeneratorVersion});
  results.failures.push_back(
      {0, kernel, "accuracy", path, path, "", found_as + ": " + describe_spec(tensors.spec), message});
  ++results.totals.failures;
  LawRow& law = results.laws[{kernel, "accuracy"}];
  ++law.checked;
  ++law.failed;
}

}  // namespace lsecheck
