#include "kernels/simt/tensor_memory_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lsecheck::simt {

void TensorMemoryCells::reset() {
  columns_ = 0;
}

std::optional<std::string> TensorMemoryCells::allocate(unsigned columns) {
  if (columns < 32 || columns > kColumns || !std::has_single_bit(columns)) {
    return fmt::format("allocates {} columns of tensor memory: a power of two from 32 to {} can be had", columns,
                       kColumns);
  }
  if (columns_ != 0) {
    return fmt::format("allocates {} columns of tensor memory while {} are allocated", columns, columns_);
  }
  columns_ = columns;
  value_.resize(std::size_t{kLanes} * columns);
  written_.assign(value_.size(), 0);
  return std::nullopt;
}

std::optional<std::string> TensorMemoryCells::release(unsigned columns) {
  if (columns != columns_) {
    return fmt::format("releases {} columns of tensor memory, but {} are allocated", columns, columns_);
  }
  columns_ = 0;
  return std::nullopt;
}

std::optional<std::string> TensorMemoryCells::check_reach(unsigned thread, unsigned lane_base, unsigned column,
                                                          std::size_t count) const {
  const unsigned warp = thread / 32 % 4;
  if (lane_base != 32 * warp) {
    return fmt::format("uses tensor memory lanes {} to {}: warp {} of its warpgroup reaches {} to {} only", lane_base,
                       lane_base + 31, warp, 32 * warp, 32 * warp + 31);
  }
  if (column > columns_ || count > columns_ - column) {
    return fmt::format("uses tensor memory columns {} to {}, but {} are allocated", column, column + count - 1,
                       columns_);
  }
  return std::nullopt;
}

std::optional<std::string> TensorMemoryCells::store(unsigned thread, unsigned lane_base, unsigned column,
                                                    std::span<const float> values) {
  if (auto wrong = check_reach(thread, lane_base, column, values.size())) return wrong;
  const std::size_t first = std::size_t{lane_base + thread % 32} * columns_ + column;
  std::copy(values.begin(), values.end(), value_.begin() + static_cast<std::ptrdiff_t>(first));
  std::fill_n(written_.begin() + static_cast<std::ptrdiff_t>(first), values.size(), std::uint8_t{1});
  return std::nullopt;
}

std::optional<std::string> TensorMemoryCells::load(unsigned thread, unsigned lane_base, unsigned column,
                                                   std::span<float> values) const {
  if (auto wrong = check_reach(thread, lane_base, column, values.size())) return wrong;
  const std::size_t first = std::size_t{lane_base + thread % 32} * columns_ + column;
  const auto* const written = written_.data() + first;
  if (std::find(written, written + values.size(), 0) != written + values.size()) {
    return fmt::format("reads tensor memory lane {}, columns {} to {}, not all of which were written",
                       lane_base + thread % 32, column, column + values.size() - 1);
  }
  std::copy_n(value_.begin() + static_cast<std::ptrdiff_t>(first), values.size(), values.begin());
  return std::nullopt;
}

}  // namespace lsecheck::simt
