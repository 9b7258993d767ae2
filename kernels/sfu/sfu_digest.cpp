#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/sfu/h200_digests.h"
#include "kernels/sfu/h200_tables.h"
#include "kernels/sfu/sfu.h"
#include "kernels/sfu/splitmix64.h"

namespace lsecheck::sfu {
namespace {

template <float (*Function)(float)>
std::uint64_t block_digest(std::uint32_t block) {
  std::uint64_t digest = 0;
  const std::uint32_t first = block << 23;
  for (std::uint32_t fraction = 0; fraction < (1u << 23); ++fraction) {
    const std::uint32_t input = first | fraction;
    const std::uint32_t output = std::bit_cast<std::uint32_t>(Function(std::bit_cast<float>(input)));
    digest += splitmix64((std::uint64_t{input} << 32) | output);
  }
  return digest;
}

template <std::size_t N>
std::uint64_t absorb(std::uint64_t state, const std::array<Segment, N>& segments) {
  for (const Segment& segment : segments) {
    const std::uint64_t packed =
        (std::uint64_t{segment.c0} << 32) | (std::uint64_t{segment.c1} << 16) | std::uint64_t{segment.c2};
    state = splitmix64(state ^ packed);
  }
  return state;
}

}  // namespace

std::string_view name_of(Instruction instruction) {
  switch (instruction) {
    case Instruction::ex2_approx_ftz:
      return "ex2.approx.ftz";
    case Instruction::ex2_approx:
      return "ex2.approx";
    case Instruction::lg2_approx_ftz:
      return "lg2.approx.ftz";
    case Instruction::lg2_approx:
      return "lg2.approx";
    case Instruction::rcp_approx_ftz:
      break;
  }
  return "rcp.approx.ftz";
}

float h200_evaluate(Instruction instruction, float x) {
  switch (instruction) {
    case Instruction::ex2_approx_ftz:
      return h200_ex2_approx_ftz(x);
    case Instruction::ex2_approx:
      return h200_ex2_approx(x);
    case Instruction::lg2_approx_ftz:
      return h200_lg2_approx_ftz(x);
    case Instruction::lg2_approx:
      return h200_lg2_approx(x);
    case Instruction::rcp_approx_ftz:
      break;
  }
  return h200_rcp_approx_ftz(x);
}

std::uint64_t model_digest(Instruction instruction, std::uint32_t block) {
  switch (instruction) {
    case Instruction::ex2_approx_ftz:
      return block_digest<h200_ex2_approx_ftz>(block);
    case Instruction::ex2_approx:
      return block_digest<h200_ex2_approx>(block);
    case Instruction::lg2_approx_ftz:
      return block_digest<h200_lg2_approx_ftz>(block);
    case Instruction::lg2_approx:
      return block_digest<h200_lg2_approx>(block);
    case Instruction::rcp_approx_ftz:
      break;
  }
  return block_digest<h200_rcp_approx_ftz>(block);
}

std::uint64_t h200_digest(Instruction instruction, std::uint32_t block) {
  return kH200Digests[static_cast<std::size_t>(instruction)].at(block);
}

std::uint64_t table_digest() {
  return absorb(absorb(absorb(0, kEx2Segments), kLg2Segments), kRcpSegments);
}

}  // namespace lsecheck::sfu
