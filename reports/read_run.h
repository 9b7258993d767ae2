#pragma once

#include <filesystem>

#include "reports/stored_run.h"

namespace lsecheck {

// A run from a result store or from a results JSON, told apart by their first bytes. Throws FileError or StoreError.
StoredRun read_run(const std::filesystem::path& path);

}  // namespace lsecheck
