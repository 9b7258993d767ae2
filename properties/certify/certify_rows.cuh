#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/ptx_float.h"
#include "kernels/sfu/sfu.h"
#include "kernels/sm100/fa4_bound_steps.h"
#include "kernels/sm100/fa4_splitk_combine.cuh"
#include "kernels/sm100/fa4_weight_steps.h"
#include "kernels/sm100/warp_reduce.cuh"
#include "kernels/target.cuh"
#include "properties/certify/certify_layout.h"
#include "reference/element_certificate.h"
#include "reference/row_certificate.h"

// Grades the bf16 outputs of fa4_splitk_combine on f32 partials against an enclosure of the exact value and the
// kernel's bound: one warp per row-head, double arithmetic. Every operation is one that the host's reference and bound
// (row_certificate.h, fa4_weight_steps.h, fa4_bound_steps.h) perform, sums in the same order, so that the bounds have
// the host's bits and the grades that are decided are the certified reference's.
//
// Left open, for the host: a row with an LSE that is not finite or lies more than 700 below the largest; an output that
// is not finite; an element of which some question stays open.
namespace lsecheck::certify {

inline constexpr int kColumnsOfALane = 4;  // that certify_rows takes at once: their sums fit in registers

struct CertifyArguments {
  const float* lse_partial;     // [P, rows], log2 domain
  const float* o_partial;       // [P, rows, D]
  const std::uint16_t* output;  // [rows, D], bf16
  int num_partitions;
  unsigned rows;
  int ov_depth;
  sfu::UnitAccuracy unit;
  const std::uint32_t* listed;  // [blocks]: the row that a block judges; nullptr: the one of its number
  std::uint32_t* verdicts;      // [blocks, kVerdictWords]
  std::uint32_t* grades;        // [blocks, D, kGradeWords]; nullptr: not wanted
};

// A lane's part of a verdict.
struct Tally {
  std::uint32_t open = 0;
  std::uint32_t failing = 0;
  float largest[3] = {0, 0, 0};
  std::uint32_t column[3] = {0, 0, 0};
};

LSECHECK_DEVICE bool is_larger(float value, std::uint32_t column, float than, std::uint32_t its_column) {
  return value > than || (value == than && column < its_column);
}

LSECHECK_DEVICE void raise(Tally& tally, int metric, double value, std::uint32_t column) {
  const float grid_number = static_cast<float>(value);  // exact: at most 11 bits, and below 2^128 where it is certified
  if (!is_larger(grid_number, column, tally.largest[metric], tally.column[metric])) return;
  tally.largest[metric] = grid_number;
  tally.column[metric] = column;
}

// The row's largest LSE, or +inf where the row is left open. The same in every lane.
LSECHECK_DEVICE float largest_lse(const CertifyArguments& in, unsigned row) {
  const int lane = static_cast<int>(threadIdx.x);
  float largest = negative_infinity();
  float smallest_negated = negative_infinity();
  for (int p = lane; p < in.num_partitions; p += 32) {
    const float x = load_global(in.lse_partial + (static_cast<std::size_t>(p) * in.rows + row));
    if (!(x - x == 0)) largest = positive_infinity();
    largest = max_non_nan(largest, x);
    smallest_negated = max_non_nan(smallest_negated, -x);
  }
  largest = sm100::butterfly_max(largest);
  smallest_negated = sm100::butterfly_max(smallest_negated);
  const double least = -static_cast<double>(smallest_negated) - static_cast<double>(largest);
  return least >= kLeastCertifiedExponent ? largest : positive_infinity();
}

// The grade of one output, and what it adds to the tally.
LSECHECK_DEVICE void judge_element(const CertifyArguments& in, unsigned row, unsigned column,
                                   const CertificateSums& sums, double total, double radius,
                                   const sm100::Fa4ColumnSums& bound_sums, std::uint64_t folded, Tally& tally) {
  const std::size_t element = static_cast<std::size_t>(row) * static_cast<unsigned>(in.ov_depth) + column;
  const std::uint32_t bits = load_global(in.output + element);
  const double bound = sm100::column_bound(bound_sums, folded, DType::bf16).bound;
  ElementGrade grade;
  const bool decided = (bits & 0x7f80U) != 0x7f80U &&
                       certify_element<DType::bf16>(enclosure_of_mean(sums, total, radius),
                                                    enclosure_of_scale(sums, total, radius), bits, bound, grade);
  if (!decided) {
    ++tally.open;
  } else if (!grade.within_bound) {
    ++tally.failing;
  } else {
    raise(tally, 0, grade.ulp, column);
    raise(tally, 1, grade.scaled_ulp, column);
    raise(tally, 2, grade.bound_use, column);
  }
  if (in.grades == nullptr) return;
  std::uint32_t* const to =
      in.grades +
      (static_cast<std::size_t>(blockIdx.x) * static_cast<unsigned>(in.ov_depth) + column) * unsigned{kGradeWords};
  store_global(to + kGradeUlp, bits_of(static_cast<float>(grade.ulp)));
  store_global(to + kGradeScaledUlp, bits_of(static_cast<float>(grade.scaled_ulp)));
  store_global(to + kGradeBoundUse, bits_of(static_cast<float>(grade.bound_use)));
  store_global(to + kGradeSteps, static_cast<std::uint32_t>(grade.steps));
  const std::uint32_t flags = grade.correctly_rounded | kGradeDecided | (grade.signed_ulp < 0 ? kGradeBelow : 0U);
  store_global(to + kGradeFlags, decided ? flags : std::uint32_t{0});
}

// Merges the lanes' tallies into the row's verdict. Lanes 0 to 2 take a metric each, 3 and 4 a count.
template <class Values, class Columns>
LSECHECK_DEVICE void store_verdict(const CertifyArguments& in, const Tally& tally, const Values& values,
                                   const Columns& columns) {
  const unsigned lane = threadIdx.x;
  for (unsigned metric = 0; metric < 3; ++metric) {
    values.store(metric * 32 + lane, tally.largest[metric]);
    columns.store(metric * 32 + lane, tally.column[metric]);
  }
  columns.store(3 * 32 + lane, tally.open);
  columns.store(4 * 32 + lane, tally.failing);
  warp_barrier();
  std::uint32_t* const verdict = in.verdicts + static_cast<std::size_t>(blockIdx.x) * unsigned{kVerdictWords};
  if (lane < 3) {
    float largest = 0;
    std::uint32_t column = 0;
    for (unsigned i = 0; i < 32; ++i) {
      const float value = values.load(lane * 32 + i);
      const std::uint32_t its_column = columns.load(lane * 32 + i);
      if (!is_larger(value, its_column, largest, column)) continue;
      largest = value;
      column = its_column;
    }
    store_global(verdict + kLargestUlp + 2 * lane, bits_of(largest));
    store_global(verdict + kLargestUlp + 2 * lane + 1, column);
  } else if (lane < 5) {
    std::uint32_t count = 0;
    for (unsigned i = 0; i < 32; ++i) count += columns.load(lane * 32 + i);
    store_global(verdict + (lane == 3 ? kOpenElements : kFailingElements), count);
  }
}

// Every element of the row stays open.
LSECHECK_DEVICE void leave_row_open(const CertifyArguments& in) {
  const unsigned lane = threadIdx.x;
  const auto depth = static_cast<unsigned>(in.ov_depth);
  if (lane < kVerdictWords) {
    store_global(in.verdicts + (static_cast<std::size_t>(blockIdx.x) * unsigned{kVerdictWords} + lane),
                 lane == kOpenElements ? depth : 0U);
  }
  if (in.grades == nullptr) return;
  for (std::size_t i = lane; i < std::size_t{depth} * kGradeWords; i += 32) {
    store_global(in.grades + (static_cast<std::size_t>(blockIdx.x) * depth * kGradeWords + i), std::uint32_t{0});
  }
}

// One warp per block, which judges one row, kColumnsAtOnce columns of each lane at a time.
template <int kColumnsAtOnce>
LSECHECK_KERNEL void LSECHECK_LAUNCH_BOUNDS(32) certify_rows(const CertifyArguments in) {
  const unsigned row = in.listed == nullptr ? blockIdx.x : load_global(in.listed + blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x);
  const int num_partitions = in.num_partitions;
  const float largest = largest_lse(in, row);
  if (largest == positive_infinity()) {
    leave_row_open(in);
    return;
  }
  const auto m = static_cast<double>(largest);
  const auto lse_at = [&](int p) {
    return static_cast<double>(load_global(in.lse_partial + (static_cast<std::size_t>(p) * in.rows + row)));
  };

  // By partition: the certificate's weight; of the bound first the enclosure of 2^(x - m) and its error, then what the
  // columns need.
  LSECHECK_SHARED_ARRAY(double, weights, sm100::kFa4PMax);
  LSECHECK_SHARED_ARRAY(double, lows, sm100::kFa4PMax);
  LSECHECK_SHARED_ARRAY(double, ups, sm100::kFa4PMax);
  LSECHECK_SHARED_ARRAY(double, errors, sm100::kFa4PMax);
  LSECHECK_SHARED_ARRAY(std::uint32_t, are_folded, sm100::kFa4PMax);
  LSECHECK_SHARED_ARRAY(float, tally_values, 3 * 32);
  LSECHECK_SHARED_ARRAY(std::uint32_t, tally_columns, 5 * 32);

  const auto at = [](int p) { return static_cast<std::size_t>(p); };
  for (int p = lane; p < num_partitions; p += 32) {
    const sm100::ScaledTerm term = sm100::scaled_term(lse_at(p), m, in.unit);
    lows.store(at(p), term.low);
    ups.store(at(p), term.up);
    errors.store(at(p), term.error);
    weights.store(at(p), certificate_weight(lse_at(p), m));
  }
  warp_barrier();

  sm100::ScaledSum scaled;
  double total = 0;
  for (int p = 0; p < num_partitions; ++p) {
    scaled.add({lows.load(at(p)), ups.load(at(p)), errors.load(at(p))});
    total += weights.load(at(p));
  }
  scaled.finish(static_cast<std::size_t>(num_partitions));
  const sm100::GlobalLse global = sm100::global_lse(m, scaled, in.unit);
  warp_barrier();

  // weight_near, weight_up, relative_error
  for (int p = lane; p < num_partitions; p += 32) {
    const sm100::Fa4PartitionWeight w = sm100::partition_weight(lse_at(p), m, global, in.unit, false);
    lows.store(at(p), w.weight_near);
    ups.store(at(p), w.weight_up);
    errors.store(at(p), w.relative_error);
    are_folded.store(at(p), sm100::is_folded(w) ? 1U : 0U);
  }
  warp_barrier();

  std::uint64_t folded = 0;
  for (int p = 0; p < num_partitions; ++p) folded += are_folded.load(at(p));
  // The relative error becomes the error factor.
  for (int p = lane; p < num_partitions; p += 32) {
    std::uint64_t folded_from_here = 0;
    for (int q = p; q < num_partitions; ++q) folded_from_here += are_folded.load(at(q));
    sm100::Fa4PartitionWeight w;
    w.weight_up = ups.load(at(p));
    w.relative_error = errors.load(at(p));
    w.fate = are_folded.load(at(p)) != 0 ? sm100::WeightFate::nonzero : sm100::WeightFate::zero;
    errors.store(at(p), sm100::error_factor(w, folded_from_here));
  }
  warp_barrier();

  const double radius = certificate_radius(num_partitions);
  const auto depth = static_cast<unsigned>(in.ov_depth);
  Tally tally;
  for (unsigned first = 0; first < depth; first += 32 * kColumnsAtOnce) {
    CertificateSums sums[kColumnsAtOnce];
    sm100::Fa4ColumnSums bound_sums[kColumnsAtOnce];
    unsigned columns[kColumnsAtOnce];
    LSECHECK_UNROLL
    for (unsigned i = 0; i < kColumnsAtOnce; ++i) columns[i] = first + 32 * i + static_cast<unsigned>(lane);
    for (int p = 0; p < num_partitions; ++p) {
      const float* const values = in.o_partial + (at(p) * in.rows + row) * depth;
      const double weight = weights.load(at(p));
      const double factor = errors.load(at(p));
      sm100::Fa4PartitionWeight w;
      w.weight_near = lows.load(at(p));
      w.weight_up = ups.load(at(p));
      LSECHECK_UNROLL
      for (unsigned i = 0; i < kColumnsAtOnce; ++i) {
        const double value = columns[i] < depth ? static_cast<double>(load_global(values + columns[i])) : 0.0;
        sums[i].add(weight, value);
        bound_sums[i].add(factor, w, value);
      }
    }
    LSECHECK_UNROLL
    for (unsigned i = 0; i < kColumnsAtOnce; ++i) {
      if (columns[i] < depth) {
        judge_element(in, row, columns[i], sums[i], total, radius, bound_sums[i], folded, tally);
      }
    }
  }
  store_verdict(in, tally, tally_values, tally_columns);
}

}  // namespace lsecheck::certify
