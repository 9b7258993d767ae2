#pragma once

#include <rapidcheck/Gen.h>
#include <rapidcheck/Shrinkable.h>

#include "properties/case_draw.h"
#include "properties/case_spec.h"

// Case specs for RapidCheck: it draws where in the case sequence to look and shrinks the spec that failed. Tensors are
// never generated or shrunk by it.
namespace lsecheck {

// The spec and its ever simpler variants.
rc::Shrinkable<CaseSpec> shrinkable_spec(const CaseSpec& spec);

rc::Gen<CaseSpec> spec_generator(const DrawLimits& limits);

}  // namespace lsecheck
