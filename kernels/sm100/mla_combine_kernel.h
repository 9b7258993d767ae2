#pragma once

#include "kernels/combine_kernel.h"

namespace lsecheck::sm100 {

// mla_combine and mla_combine_split_parallel as registered kernels. Partials and output have one type; num_partitions
// is a split bucket of the chip above 1 that is in the instantiation table.
const CombineKernel& mla_combine_kernel();
const CombineKernel& mla_combine_split_parallel_kernel();

}  // namespace lsecheck::sm100
