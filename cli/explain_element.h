#pragma once

#include "properties/case_tensors.h"
#include "properties/laws.h"

namespace lsecheck::cli {

// Prints the steps of the worst graded element of the case to standard output: the kernel's values beside the exact
// ones, and each step's share of the error. Of other kernels than fa4_splitk_combine, one line says so.
void print_explanation(const CaseTensors& tensors, const AccuracyMeasurement& measured);

}  // namespace lsecheck::cli
