#pragma once

#include <string>

#include "reports/mutants_report.h"

namespace lsecheck::html {

// What became of the planted bugs: the score, every one that was not killed by name, a table by class, and folded away
// below it every one. All texts are escaped.
std::string mutants_section(const MutantsReport& report);

}  // namespace lsecheck::html
