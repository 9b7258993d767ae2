#pragma once

#include "kernels/combine_kernel.h"
#include "properties/case_tensors.h"

// The registered kernel of a case, and the case as that kernel's shape.
namespace lsecheck {

// nullptr: the kernel has a name but is not registered in this build.
const CombineKernel* registered_kernel(KernelId kernel);

// Throws std::invalid_argument where it is not registered.
const CombineKernel& kernel_of(const CaseSpec& spec);

// The scale of the exponents belongs to the tensors: the spec's own shape, which has 1 there, is for what does not
// depend on it (whether it can run, its variants, its columns).
CombineShape shape_of(const CaseSpec& spec);
CombineShape shape_of(const CaseTensors& tensors);

// Elements of one output row.
std::size_t columns_of(const CaseSpec& spec);

// The variant that the case's selection asks for; the case is not over_bucketed (see bucketed()).
KernelVariant variant_of(const CaseSpec& spec);

}  // namespace lsecheck
