#pragma once

#include "properties/case_spec.h"
#include "properties/case_tensors.h"

namespace lsecheck {

// The tensors of a spec: a pure function, the same bits on every machine (integers and correctly rounded + - * / fma;
// exponentials through the measured special-function unit's model). Throws std::invalid_argument where spec_error() has
// a line.
CaseTensors expand(const CaseSpec& spec);

}  // namespace lsecheck
