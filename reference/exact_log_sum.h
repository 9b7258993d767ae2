#pragma once

#include "reference/grade.h"

namespace lsecheck {

// Reference::log_sum_exp2 of the exact reference. Throws PrecisionCapReached when the precision cap leaves it open.
Reference::RoundedLse exact_log_sum_exp2(const RowProblem& problem);

}  // namespace lsecheck
