#pragma once

#include "kernels/combine_kernel.h"

namespace lsecheck::sm100 {

// fa4_splitk_combine as a registered kernel.
const CombineKernel& fa4_combine_kernel();

}  // namespace lsecheck::sm100
