#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/hunt_target.h"

// One found worst case as a line of text: everything that its replay needs, floats as hexadecimal numbers, values as
// the bits of the partial type. Only the worst column is kept; a replay puts it into every column.
//
//   kernel=fa4_splitk_combine out=f32 partial=f32 arch=sm_100a exponent=log2 P=2 regime=narrow metric=scaled_ulp
//   variant=runtime unit=h200 D=64 scale=0x1p+0 value=0x1.4p+2 lse=0x1p+0,-0x1p-1 mass=none o=3f800000,40490fdb
//
// on one line; mass= lists masses for kernels that take them.
namespace lsecheck {

struct WorstCase {
  HuntTarget target;
  std::string variant;
  int ov_depth = 0;
  float exponent_scale = 1;
  double value = 0;  // of the target's metric when it was found
  std::vector<float> lse;
  std::vector<float> mass;       // empty: the kernel takes none
  std::vector<std::uint32_t> o;  // [P]
};

std::string format_worst_case(const WorstCase& worst);

// Throws std::invalid_argument that names the field. Sizes and numbers go together; whether this build can launch the
// case is for its replay to say.
WorstCase parse_worst_case(std::string_view line);

}  // namespace lsecheck
