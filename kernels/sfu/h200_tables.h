#pragma once

#include <array>
#include <cstdint>

// The quadratic-interpolation tables of the measured special-function unit. The top bits of the 23-bit fraction select
// the segment: six for ex2 and lg2, seven for rcp. How the coefficients are scaled stands in h200_model.cpp.
namespace lsecheck::sfu {

struct Segment {
  std::uint32_t c0;
  std::uint16_t c1;
  std::uint16_t c2;
};

extern const std::array<Segment, 64> kEx2Segments;
extern const std::array<Segment, 64> kLg2Segments;
extern const std::array<Segment, 128> kRcpSegments;

}  // namespace lsecheck::sfu
