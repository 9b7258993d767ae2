#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// The special-function unit: ex2.approx, lg2.approx and rcp.approx on f32, as pure functions of the input bits.
//
// h200: the measured hardware, bit for bit (tables in h200_tables.cpp, digests over all 2^32 inputs in
// h200_digests.txt). spec: an adversary inside the PTX ISA's documented accuracy: a pure function of (seed,
// instruction, input bits).
namespace lsecheck::sfu {

enum class UnitKind : std::uint8_t { h200 = 0, spec = 1 };

struct Unit {
  UnitKind kind = UnitKind::h200;
  std::uint64_t seed = 0;  // spec only
};

constexpr std::string_view name_of(UnitKind kind) {
  return kind == UnitKind::h200 ? "h200" : "spec";
}

// The measured unit.
float h200_ex2_approx(float x);
float h200_ex2_approx_ftz(float x);
float h200_lg2_approx(float x);
float h200_lg2_approx_ftz(float x);
float h200_rcp_approx_ftz(float x);

// The adversary. Special values per the PTX tables (ex2(+-0 or subnormal) = 1 exactly; ftz forms flush).
float spec_ex2_approx_ftz(std::uint64_t seed, float x);
float spec_lg2_approx(std::uint64_t seed, float x);
float spec_rcp_approx_ftz(std::uint64_t seed, float x);

// What the kernels call: the unit decides.
inline float ex2_approx_ftz(const Unit& unit, float x) {
  return unit.kind == UnitKind::h200 ? h200_ex2_approx_ftz(x) : spec_ex2_approx_ftz(unit.seed, x);
}
inline float lg2_approx(const Unit& unit, float x) {
  return unit.kind == UnitKind::h200 ? h200_lg2_approx(x) : spec_lg2_approx(unit.seed, x);
}
inline float rcp_approx_ftz(const Unit& unit, float x) {
  return unit.kind == UnitKind::h200 ? h200_rcp_approx_ftz(x) : spec_rcp_approx_ftz(unit.seed, x);
}

// Accuracy of a unit, the input of every a-priori bound. All are proven upper bounds; the source of each number stands
// in sfu_accuracy.cpp. ex2 and rcp in their .ftz forms: a result is either within the relative bound or flushed to
// zero, and it is flushed only where the exact value is at most 2^-126 in size. Finite results only; x is what the
// instruction sees (subnormals count as zero).
struct UnitAccuracy {
  double ex2_relative;            // abs(ex2(x) - 2^x) <= this * 2^x, x < 128
  double lg2_absolute;            // abs(lg2(x) - log2 x) for x in (0.5, 2)
  double lg2_absolute_above_one;  // the same for x in [1, 2) alone
  double lg2_relative;  // abs(lg2(x) - log2 x) <= this * abs(log2 x) for x <= 0.5 and x >= 2, subnormals included
  double lg2_relative_above_two;  // the same for x >= 2 alone
  bool lg2_of_one_exact;          // lg2(1) = +0 exactly
  double rcp_relative;            // abs(rcp(x) - 1/x) <= this * abs(1/x)
};
UnitAccuracy accuracy_of(UnitKind kind);

// splitmix64 digest over block b (the 2^23 inputs whose top nine bits are b) of one instruction; see h200_digests.h.
enum class Instruction : std::uint8_t { ex2_approx_ftz, ex2_approx, lg2_approx_ftz, lg2_approx, rcp_approx_ftz };
std::string_view name_of(Instruction instruction);  // "ex2.approx.ftz", ...
float h200_evaluate(Instruction instruction, float x);
std::uint64_t model_digest(Instruction instruction, std::uint32_t block);
std::uint64_t h200_digest(Instruction instruction, std::uint32_t block);  // as measured
std::uint64_t table_digest();  // one number over the coefficient tables, for `--version`

}  // namespace lsecheck::sfu
