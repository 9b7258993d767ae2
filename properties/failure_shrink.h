#pragma once

#include <optional>
#include <string>

#include "properties/laws.h"

// Makes a failing case small: first its spec, then its tensors. Both stop at a fixed number of tries, so the same
// failure shrinks to the same case anywhere.
namespace lsecheck {

struct ShrunkSpec {
  CaseSpec spec;
  LawOutcome outcome;  // fails
};

// spec fails the law. The simplest spec reached that fails it too.
ShrunkSpec shrink_spec(const CaseSpec& spec, const Law& law, Reference& reference);

// tensors fail the law. Fewer partitions, rows and depth; LSEs to 0, small integers and fewer bits; values to 0, 1,
// powers of two and fewer bits.
CaseTensors shrink_tensors(const CaseTensors& tensors, const Law& law, Reference& reference);

}  // namespace lsecheck
