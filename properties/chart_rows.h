#pragma once

#include <cstdint>
#include <string>

#include "properties/case_tensors.h"
#include "properties/laws.h"
#include "properties/results.h"

namespace lsecheck {

// Adds the graded row-heads of one case to the charts. `key` is the line of the accuracy table that the case belongs
// to, `token` the case as it was drawn.
void add_charts(RunResults& results, const CaseTensors& tensors, const AccuracyMeasurement& measured,
                const StatKey& key, std::uint64_t case_index, const std::string& token);

}  // namespace lsecheck
