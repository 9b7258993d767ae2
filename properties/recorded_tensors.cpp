#include "properties/recorded_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace lsecheck {
namespace {

[[noreturn]] void refuse(const SafetensorsFile& file, const std::string& reason) {
  throw FileError(FileErrorKind::unreadable, file.path(), reason);
}

// A shape that may or may not tell rows from heads; flattened it must be what is expected.
void expect_shape(const SafetensorsFile& file, const char* name, const SafetensorsTensor& tensor,
                  std::vector<std::uint64_t> split, std::vector<std::uint64_t> flat, bool split_known) {
  if (tensor.shape == flat || (split_known && tensor.shape == split)) return;
  // Without a split in o_partial any split of the right size is as good.
  if (!split_known && tensor.shape.size() == split.size()) {
    const auto rows_at = std::find(split.begin(), split.end(), 0);
    const auto i = static_cast<std::size_t>(rows_at - split.begin());
    split[i] = tensor.shape[i];
    split[i + 1] = tensor.shape[i + 1];
    const bool same_count = split[i] != 0 && flat[i] % split[i] == 0 && flat[i] / split[i] == split[i + 1];
    if (same_count && tensor.shape == split) return;
  }
  refuse(file, fmt::format("tensor `{}` has shape {}; to go with o_partial it must be {}{}", name,
                           shape_text(tensor.shape), split_known ? shape_text(split) + " or " : "", shape_text(flat)));
}

}  // namespace

double RecordedTensors::lse(std::size_t p, std::size_t rh) const {
  return decode(*lse_partial->dtype, lse_partial->bits(p * rows_heads + rh));
}

double RecordedTensors::o(std::size_t p, std::size_t rh, std::size_t d) const {
  return decode(*o_partial->dtype, o_partial->bits((p * rows_heads + rh) * depth + d));
}

std::vector<double> RecordedTensors::row_lse(std::size_t rh) const {
  std::vector<double> row(num_partitions);
  for (std::size_t p = 0; p < num_partitions; ++p) row[p] = lse(p, rh);
  return row;
}

std::vector<double> RecordedTensors::row_o(std::size_t rh) const {
  std::vector<double> row(num_partitions * depth);
  for (std::size_t p = 0; p < num_partitions; ++p) {
    for (std::size_t d = 0; d < depth; ++d) row[p * depth + d] = o(p, rh, d);
  }
  return row;
}

std::string RecordedTensors::row_text(std::size_t rh) const {
  if (heads == 0) return fmt::format("row-head {}", rh);
  return fmt::format("row {} head {}", rh / heads, rh % heads);
}

RecordedTensors recorded_tensors(const SafetensorsFile& file) {
  RecordedTensors tensors;
  const SafetensorsTensor& o = file.float_tensor("o_partial");
  if (o.shape.size() != 3 && o.shape.size() != 4) {
    refuse(file, fmt::format("tensor `o_partial` has shape {}; it must be [P, rows, heads, D] or [P, rows_heads, D]",
                             shape_text(o.shape)));
  }
  if (std::find(o.shape.begin(), o.shape.end(), 0) != o.shape.end()) {
    refuse(file, fmt::format("tensor `o_partial` has shape {}: there is nothing to check", shape_text(o.shape)));
  }
  const bool split = o.shape.size() == 4;
  const std::uint64_t rows = split ? o.shape[1] : 0;
  tensors.num_partitions = o.shape[0];
  tensors.heads = split ? o.shape[2] : 0;
  tensors.rows_heads = split ? o.shape[1] * o.shape[2] : o.shape[1];
  tensors.depth = o.shape.back();
  tensors.o_partial = &o;
  tensors.lse_partial = &file.float_tensor("lse_partial");
  tensors.out = &file.float_tensor("out");
  if (file.find("out_lse") != nullptr) tensors.out_lse = &file.float_tensor("out_lse");

  const auto [P, rows_heads, D] = std::tuple(tensors.num_partitions, tensors.rows_heads, tensors.depth);
  expect_shape(file, "lse_partial", *tensors.lse_partial, {P, rows, tensors.heads}, {P, rows_heads}, split);
  expect_shape(file, "out", *tensors.out, {rows, tensors.heads, D}, {rows_heads, D}, split);
  if (tensors.out_lse != nullptr) {
    expect_shape(file, "out_lse", *tensors.out_lse, {rows, tensors.heads}, {rows_heads}, split);
  }
  return tensors;
}

}  // namespace lsecheck
