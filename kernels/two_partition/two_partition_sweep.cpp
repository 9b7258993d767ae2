#include "kernels/two_partition/two_partition_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <stdexcept>

#include "kernels/combine_kernel.h"
#include "kernels/cuda/cuda_two_partition.h"
#include "kernels/registry.h"
#include "kernels/two_partition/two_partition_shape.h"
#include "reference/certified_reference.h"

namespace lsecheck::two_partition {

namespace {

constexpr sfu::UnitKind kUnit = sfu::UnitKind::h200;

std::uint32_t bits_of_value(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// Grades single elements by the contract, the bound and the certified reference.
class ElementGrader {
 public:
  ElementGrader(const CombineKernel& kernel, const KernelVariant& variant) : kernel_(kernel), variant_(variant) {
    shape_.arch = Arch::sm_90;
    shape_.num_partitions = 2;
    shape_.rows = shape_.heads = 1;
    shape_.ov_depth = 1;  // the contract and the bound are those of any depth
    shape_.out = shape_.partial = DType::f32;
  }

  RowExpectation expectation(std::uint32_t lse_bits, int column) const {
    const std::array<float, 2> lse{0.0F, std::bit_cast<float>(lse_bits)};
    const ValuePair pair = value_pair(column);
    const std::array<std::uint32_t, 2> o{bits_of_value(pair.first), bits_of_value(pair.second)};
    return kernel_.expect(shape_, variant_, {lse, o}, kUnit);
  }

  // Into the tally, or as a failure.
  void see(const OpenElement& element, SweepResult& result) {
    ColumnTally& tally = result.columns[element.column];
    Failure failure{element, {}, false};
    const RowExpectation row = expectation(element.lse_bits, static_cast<int>(element.column));
    const bool is_nan = is_nan_bits(element.out_bits);
    if (row.row_class == RowClass::all_nan) {
      tally.nan_due += is_nan ? 1 : 0;
      failure.wrong_class = !is_nan;
    } else if (is_nan || row.row_class != RowClass::finite) {
      failure.wrong_class = true;
    } else {
      const RowBound bound = kernel_.bound(shape_, row, kUnit);
      reference_->grade_row(row.problem(), {DType::f32, {&element.out_bits, 1}, bound.bound, bound.inf_allowed},
                            {&failure.grade, 1});
      tally.add(element.lse_bits, element.out_bits, failure.grade);
    }
    if (!failure.wrong_class && failure.grade.within_bound && !failure.grade.undecided) return;
    ++result.failure_count;
    if (result.failures.size() < kMaxFailures) result.failures.push_back(failure);
  }

 private:
  const CombineKernel& kernel_;
  const KernelVariant& variant_;
  CombineShape shape_;
  std::unique_ptr<Reference> reference_ = make_certified_reference();
};

void sweep_cpu(const CombineKernel& kernel, const KernelVariant& variant, Kernel which, std::uint64_t stride,
               ElementGrader& grader, SweepResult& result) {
  const CombineShape shape = sweep_shape(which, kCpuRows);
  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  const std::vector<float> o = partials_of(shape);
  std::vector<float> lse(2 * kCpuRows, 0.0F);
  for (std::uint64_t first = 0; first < result.rows; first += kCpuRows) {
    const std::uint64_t count = std::min<std::uint64_t>(kCpuRows, result.rows - first);
    for (std::uint64_t r = 0; r < kCpuRows; ++r) {  // the last batch ends in rows that are not looked at
      const auto bits = static_cast<std::uint32_t>(r < count ? (first + r) * stride : 0);
      lse[kCpuRows + r] = std::bit_cast<float>(bits);
    }
    std::vector<std::uint32_t> out(kCpuRows * depth, 0xffffffffU);
    CombineBuffers buffers{std::as_bytes(std::span(lse)), std::as_bytes(std::span(o)),
                           std::as_writable_bytes(std::span(out))};
    if (const auto fault = kernel.launch(shape, variant, buffers, {})) throw std::runtime_error(fault->message);
    for (std::uint64_t r = 0; r < count; ++r) {
      for (std::uint32_t column = 0; column < kValuePairs; ++column) {
        grader.see({bits_of_value(lse[kCpuRows + r]), column, out[r * depth + column]}, result);
      }
    }
  }
}

void sweep_cuda(Kernel which, std::uint64_t stride, ElementGrader& grader, SweepResult& result) {
  cuda::TwoPartitionSweep device = cuda::sweep_two_partitions(which, stride);
  if (device.open_count > device.open.size()) {
    throw std::runtime_error(
        fmt::format("exhaustive: the device left {} elements of {} open, more than the {} that it lists; run a larger "
                    "--stride to see which",
                    device.open_count, name_of(which), device.open.size()));
  }
  std::sort(device.open.begin(), device.open.end(), [](const OpenElement& a, const OpenElement& b) {
    return a.lse_bits != b.lse_bits ? a.lse_bits < b.lse_bits : a.column < b.column;
  });
  result.columns = device.columns;
  for (const OpenElement& element : device.open) {
    ++result.columns[element.column].left_double;
    grader.see(element, result);
  }
}

}  // namespace

std::string_view name_of(Kernel kernel) {
  return kernel == Kernel::fa4 ? "fa4_splitk_combine" : "mla_combine_split_parallel";
}

SweepResult sweep(Kernel which, Backend backend, std::uint64_t stride) {
  const CombineKernel& kernel = *find_kernel(name_of(which));
  const KernelVariant variant = sweep_variant(which);
  ElementGrader grader(kernel, variant);
  for (const std::uint32_t special : {0x7f800000U, 0x7fc00000U}) {
    if (grader.expectation(special, 0).row_class != RowClass::all_nan) {
      throw std::runtime_error(fmt::format(
          "exhaustive: the contract of {} no longer makes a row NaN by an LSE of +inf or NaN; column_tally.h says so",
          name_of(which)));
    }
  }
  SweepResult result;
  result.rows = ((std::uint64_t{1} << 32) - 1) / stride + 1;
  if (backend == Backend::cuda) {
    sweep_cuda(which, stride, grader, result);
  } else {
    sweep_cpu(kernel, variant, which, stride, grader, result);
  }
  result.nan_rows = result.columns[0].nan_due;
  for (const ColumnTally& column : result.columns) {
    const std::uint64_t seen = column.graded + column.nan_due;
    if (result.failure_count == 0 && seen != result.rows) {
      throw std::runtime_error(fmt::format("exhaustive: {} of {} rows of {} were looked at; please report this", seen,
                                           result.rows, name_of(which)));
    }
  }
  return result;
}

}  // namespace lsecheck::two_partition
