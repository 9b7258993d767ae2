#pragma once

#include <string>
#include <vector>

#include "reports/night_history.h"

namespace lsecheck::html {

// A table of the nights, newest first, with what failed in each and how to replay it, and each kernel's largest
// bound_use over them. `nights` is oldest first. Empty for fewer than two.
std::string nights_section(const std::vector<Night>& nights);

}  // namespace lsecheck::html
