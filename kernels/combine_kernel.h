#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/arch.h"
#include "kernels/backend.h"
#include "kernels/sfu/sfu.h"
#include "kernels/simt/launch.h"
#include "kernels/simt/schedule.h"
#include "reference/float_format.h"
#include "reference/row_problem.h"

// A registered combine kernel, described so that laws never need to know which one they test: its shape rules, its
// variants (compiled instantiations that must agree), how to launch one on plain buffers, what its contract says of a
// row, and its a-priori bound.
namespace lsecheck {

// How the exponents that a kernel reads (lse_partial) become the x_p of a row problem.
enum class ExponentForm : std::uint8_t {
  log2 = 0,     // they are x_p
  natural = 1,  // natural log: 2^x_p means e^x_p
  scaled = 2    // raw score units: x_p = lse_partial * exponent_scale, the kernel multiplies ("use_fma")
};

struct CombineShape {
  Arch arch = Arch::sm_100a;
  int num_partitions = 0;
  std::uint32_t rows = 0;
  std::uint32_t heads = 0;
  int ov_depth = 0;
  DType out = DType::bf16;
  DType partial = DType::bf16;
  ExponentForm exponent = ExponentForm::log2;
  float exponent_scale = 1.0f;  // scale_log2e where exponent is scaled: positive, finite; 1 otherwise

  std::uint64_t rows_heads() const { return std::uint64_t{rows} * heads; }
};

// One way to run a shape: a compiled instantiation, and for kernels that take them, how the rows are grouped.
struct KernelVariant {
  std::string name;        // "rung", "runtime", "wph4", "wph4_ragged", "dense", "ragged"
  int p_static = 0;        // 0: the partition count is a run-time argument
  int warps_per_head = 0;  // 0: not a parameter of the kernel
  bool ragged = false;     // rows are cut into sequences of unequal length, whose workspace is padded to the longest
  int load_bytes = 0;      // a faster variant whose lanes load that many bytes at once; 0: in the contract's shape
  int m_pack = 0;          // 0: not a parameter of the kernel; key quarters or halves that share a warpgroup
};

// Layouts: lse_partial [P, rows, heads] f32 (in the shape's exponent form), o_partial [P, rows, heads, ov_depth] of
// shape.partial, output [rows, heads, output_columns(shape)] of shape.out. Byte counts are what the launch may touch.
struct CombineBuffers {
  std::span<const std::byte> lse_partial;
  std::span<const std::byte> o_partial;
  std::span<std::byte> output;
  std::span<const std::byte> attention_sink = {};  // [heads] f32, natural log, finite or -inf; empty: no sink
  std::span<const std::byte> mass_partial = {};    // [P, rows, heads] f32: l_p of kernels that take_masses()
};

// On the cuda backend the device is the unit and the schedule, and every block runs.
struct ExecutionOptions {
  Backend backend = Backend::cpu;
  sfu::Unit unit{};
  Schedule schedule = Schedule::lockstep;
  std::uint64_t schedule_seed = 0;
  unsigned jobs = 1;
  std::optional<std::vector<std::uint64_t>> only_blocks;
};

// What the contract says about one output row before it is computed.
enum class RowClass : std::uint8_t { finite, zeros, all_nan };

// Classes of value that an element may hold, as a bit set. kFinite alone: the element is graded against the exact value
// (where Inf may still be due or allowed by overflow).
// kNaNByOverflow, only together with kFinite: graded unless NaN, which partial sums that overflow may leave (Inf - Inf,
// or an Inf that is scaled by 0).
enum ElementDue : std::uint8_t { kFinite = 1, kNaN = 2, kPositiveInf = 4, kNegativeInf = 8, kNaNByOverflow = 16 };

struct RowExpectation {
  RowClass row_class = RowClass::finite;
  // For row_class finite: the row problem of the graded elements and what is due element by element. P and D are those
  // of the problem: a kernel may add a partial or a column to say what it returns (D = output_columns).
  ExponentBase base = ExponentBase::log2;
  std::vector<double> x;  // [P], in the domain of base, -inf: empty
  std::vector<double> l;  // [P], or empty: every mass is 1
  std::vector<double>
      a;  // [P, D]; non-finite values replaced by 0 (their elements are not graded, or the contract drops them)
  std::vector<std::uint8_t> due;  // [D] of ElementDue
  std::optional<double> sink;     // natural log, finite or -inf (the operations run, the mass is 0); nullopt: no sink
  RowProblem problem() const {
    const bool has_mass = sink && *sink != -std::numeric_limits<double>::infinity();
    return {base, x, l, a, due.size(), has_mass ? sink : std::nullopt};
  }
};

// One row of a case as the kernel reads it.
struct RowInput {
  std::span<const float> lse;                // [P], in the shape's exponent form
  std::span<const std::uint32_t> o;          // [P, D], bits of shape.partial
  std::optional<float> sink = std::nullopt;  // natural log, finite or -inf
  std::span<const float> mass = {};          // [P], of kernels that take_masses()
};

struct RowBound {
  std::vector<double> bound;              // [D]: abs(y - x) <= bound, y the stored output
  std::vector<double> bound_before_cast;  // [D]: the same for the f32 value before the final rounding
  std::vector<std::uint8_t> inf_allowed;  // [D]: the f32 partial sums may overflow
};

class CombineKernel {
 public:
  virtual ~CombineKernel() = default;

  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;
  virtual std::span<const int> depths() const = 0;
  virtual int p_max() const = 0;
  virtual std::string partition_counts() const = 0;  // "1 to 160": for a person
  virtual bool supports_types(DType out, DType partial) const = 0;
  virtual bool has_cuda_build() const = 0;  // whether launch() knows Backend::cuda

  // nullopt: can run. Otherwise one line that names what is wrong and what would do.
  virtual std::optional<std::string> refuse(const CombineShape& shape) const = 0;

  // The smallest partition count from shape.num_partitions upward that refuse() accepts in its place; nullopt: none.
  virtual std::optional<int> launchable_partitions(const CombineShape& shape) const = 0;

  // The larger partition count that production rounds shape.num_partitions up to (trailing partitions stay empty),
  // where that one can be launched; nullopt: the count itself is launched, or none.
  virtual std::optional<int> production_bucket(const CombineShape&) const { return std::nullopt; }
  // Production picks among kernels of fixed partition counts and one whose count is a run-time argument.
  virtual bool has_rungs() const { return false; }

  // What the laws ask instead of names.
  virtual bool takes_sink() const = 0;
  virtual bool takes_masses() const { return false; }  // each partial has a mass l_p; otherwise every l_p is 1
  // With masses: whether a mass of 0 marks an empty partition, whatever its exponent, which still counts in the
  // maximum. Otherwise an exponent of -inf does, and the mass beside it is 0.
  virtual bool empty_by_mass() const { return false; }
  // Whether o_partial is already divided by the partition's mass, so that a_p = l_p o_p; otherwise a_p = o_p.
  virtual bool partials_normalised() const { return true; }
  // Inf or NaN under an empty partition does not reach the output; otherwise only finite bits there do not.
  virtual bool drops_garbage() const { return true; }
  // The output is N / L; otherwise it is a sum that is still to be divided.
  virtual bool divides_by_mass() const { return true; }
  virtual std::span<const ExponentForm> exponent_forms() const {  // which it can read, production's first
    static constexpr ExponentForm kLog2[] = {ExponentForm::log2};
    return kLog2;
  }
  // Columns from ov_depth on depend on exponents and masses alone, not on the values.
  virtual std::size_t output_columns(const CombineShape& shape) const {
    return static_cast<std::size_t>(shape.ov_depth);
  }
  // With the measured unit, one non-empty partition comes back to the bit: nothing multiplies it but a weight of 1.
  virtual bool single_partition_exact() const { return !takes_masses(); }
  virtual bool trailing_empties_exact() const = 0;  // trailing empty partitions change no bit
  virtual bool shift_exact() const = 0;             // without a sink, one exact constant on every LSE changes no bit
  virtual bool rescales_sums()
      const = 0;  // partial sums are rescaled as the maximum grows: a cancelled one has no least size

  // Every instantiation that runs this shape, production's choice first. Law: all give the same bits.
  virtual std::vector<KernelVariant> variants(const CombineShape& shape) const = 0;

  virtual std::optional<simt::Fault> launch(const CombineShape& shape, const KernelVariant& variant,
                                            const CombineBuffers& buffers, const ExecutionOptions& options) const = 0;

  // The special-value contract (per arch and variant) applied to a row; `unit` says how sharp the weights are known.
  virtual RowExpectation expect(const CombineShape& shape, const KernelVariant& variant, const RowInput& row,
                                sfu::UnitKind unit) const = 0;

  // The proven bound of this kernel's operation sequence on a row of class finite.
  virtual RowBound bound(const CombineShape& shape, const RowExpectation& row, sfu::UnitKind unit) const = 0;
};

}  // namespace lsecheck
