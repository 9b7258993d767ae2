#pragma once

#include "properties/laws.h"

namespace lsecheck {

// check_guarded(), whose message says of a case that fails accuracy also what each step of the kernel brings into the
// worst error.
LawOutcome explained_outcome(const Law& law, const CaseTensors& tensors, Reference& reference);

}  // namespace lsecheck
