#pragma once

#include <functional>

#include "properties/laws.h"

// Makes a failing case small: first its spec, then its tensors. Both stop at a fixed number of tries, so the same
// failure shrinks to the same case anywhere.
namespace lsecheck {

// Shrinking runs a case some hundred times: in a process of its own it may take so many times what one case may.
inline constexpr unsigned kShrinkPatience = 10;

// Whether a smaller case, as it would be launched, fails like the one to be made small. The same answer at every call.
using FailsLikewise = std::function<bool(const CaseTensors&)>;

// Why a failure that does not come again stays as it is; the end of its message.
inline constexpr const char* kHoldsAtSecondLook =
    "\nnot made smaller: at a second look the law holds; the kernel gives other bits from call to call";

// By the law alone. Law and reference outlive it.
FailsLikewise fails_law(const Law& law, Reference& reference);

// spec fails. The simplest spec reached that fails likewise.
CaseSpec shrink_spec(const CaseSpec& spec, const FailsLikewise& fails);

// tensors fail. Fewer partitions, rows and depth; LSEs to 0, small integers and fewer bits; values to 0, 1, powers of
// two and fewer bits.
CaseTensors shrink_tensors(const CaseTensors& tensors, const FailsLikewise& fails);

}  // namespace lsecheck
