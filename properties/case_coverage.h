#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/case_draw.h"
#include "properties/case_spec.h"

// The case classes a run is checked for: a run that lacks one has not tested what it says it tests.
namespace lsecheck {

// The names of every class the case belongs to, each once: "kernel:fa4_splitk_combine", "lse:narrow", "values:huge",
// "empties:trailing", "garbage:nan", "types:bf16<-f32", "depth:64", "arch:sm_90", "selection:runtime_p", "P=1",
// "P:2-16", "P:17-32", "P:33-64", "P:65-160", "P>32", "P:off_ladder" (FA4), "rows_heads>=4,heads>=2", "sink:finite"
// (kernels that take one), "exponent:scaled" (kernels of several forms), "mass:tiny" (kernels that take masses). The
// same names again with the kernel's in front, "fa4_splitk_combine lse:narrow", count within that kernel's cases. A
// pattern that the shape makes void does not count: leading, trailing, random or one_left empties and mixed rows need P
// >= 2, and garbage needs a partition that can be empty.
std::vector<std::string> coverage_classes(const CaseSpec& spec);

struct RequiredClass {
  std::string name;
  int min_percent;      // of the cases of class `of`, from some tens of those per percent upward
  std::string of = {};  // empty: of all cases

  bool covered(std::uint64_t count, std::uint64_t cases) const {
    return count > 0 && count * 100 >= cases * static_cast<std::uint64_t>(min_percent);
  }
};

// What a run under these limits has to hold.
std::vector<RequiredClass> required_classes(const DrawLimits& limits);

}  // namespace lsecheck
