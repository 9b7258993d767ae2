#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernels/simt/last_block.h"
#include "kernels/simt/sparse_buffer.h"
#include "properties/law_tools.h"
#include "properties/tensor_edits.h"

// Two row-heads at the two ends of a workspace so large that every index width shows: more than 2^32 LSEs, more than
// 65535 row-heads. The memory exists only where it is touched, and only the first and the last block run.
namespace lsecheck {

namespace {

using simt::SparseBuffer;

constexpr std::uint64_t kIndexes32 = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostBlocks = 0x7fffffff;
constexpr std::uint32_t kPrimeRows = 65521;  // below 65536, for kernels that have rows on a grid axis of that length
constexpr std::uint64_t kBlocksOfARow = 4;   // at most: 512 elements, one a lane, in blocks of 4 warps

// The small case's shape with its row-heads far apart; heads stay where each has a sink.
std::optional<CombineShape> enlarged(const CaseTensors& small) {
  CombineShape shape = shape_of(small);
  const std::uint64_t wanted = std::min(kMostBlocks, kIndexes32 / static_cast<std::uint64_t>(shape.num_partitions) + 7);
  shape.rows = static_cast<std::uint32_t>(wanted / shape.heads);
  if (!kernel_of(small.spec).refuse(shape)) return shape;
  if (shape.heads != 1) return std::nullopt;
  shape.rows = kPrimeRows;
  shape.heads = static_cast<std::uint32_t>(wanted / kPrimeRows + 1);
  return kernel_of(small.spec).refuse(shape) ? std::nullopt : std::optional(shape);
}

// [P, 2 row-heads, bytes of one] to the ends of [P, rows_heads, bytes of one].
void spread(std::span<const std::byte> from, std::size_t num_partitions, std::size_t rows_heads,
            std::span<std::byte> to) {
  const std::size_t width = from.size() / (2 * num_partitions);
  for (std::size_t p = 0; p < num_partitions; ++p) {
    for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
      std::memcpy(to.data() + (p * rows_heads + end * (rows_heads - 1)) * width, from.data() + (2 * p + end) * width,
                  width);
    }
  }
}

struct LargeMemory {
  SparseBuffer lse, mass, o, output;

  LargeMemory(const CombineShape& shape, bool with_masses, std::size_t columns)
      : lse(pairs(shape) * sizeof(float)),
        mass(with_masses ? pairs(shape) * sizeof(float) : 1),
        o(pairs(shape) * static_cast<std::size_t>(shape.ov_depth) * size_of(shape.partial)),
        output(shape.rows_heads() * columns * size_of(shape.out)) {}
  static std::size_t pairs(const CombineShape& shape) {
    return static_cast<std::size_t>(shape.num_partitions) * shape.rows_heads();
  }
  bool mapped() const { return lse.mapped() && mass.mapped() && o.mapped() && output.mapped(); }
};

}  // namespace

LawOutcome check_large_grid(const CaseTensors& tensors, Reference&) {
  if (backend_in_use() != Backend::cpu) return LawOutcome::skip("needs memory that no device has: --backend cpu");
  if (has_special_input(tensors)) return LawOutcome::skip(kSpecialInput);
  const auto last = static_cast<std::int64_t>(tensors.spec.rows_heads()) - 1;
  const CaseTensors small = remap_rows(tensors, std::array<std::int64_t, 2>{0, last});
  const CombineKernel& kernel = kernel_of(small.spec);
  const auto shape = enlarged(small);
  if (!shape) return LawOutcome::skip("the kernel takes no grid that large");
  RunOptions production;
  production.variant = kernel.variants(shape_of(small)).front();
  const KernelRun expected = run_kernel(small, production);
  if (expected.fault) return LawOutcome::fail(*expected.fault);

  const std::size_t columns = columns_of(small.spec);
  const bool with_masses = !small.mass_partial.empty();
  LargeMemory memory(*shape, with_masses, columns);
  if (!memory.mapped()) return LawOutcome::skip("the system reserves no terabytes of address space");
  const auto num_partitions = static_cast<std::size_t>(shape->num_partitions);
  const std::size_t rows_heads = shape->rows_heads();
  spread(std::as_bytes(std::span(small.lse_partial)), num_partitions, rows_heads, memory.lse.bytes());
  if (with_masses) {
    spread(std::as_bytes(std::span(small.mass_partial)), num_partitions, rows_heads, memory.mass.bytes());
  }
  spread(pack_bits(small.spec.partial, small.o_partial), num_partitions, rows_heads, memory.o.bytes());

  const std::size_t row_bytes = columns * size_of(shape->out);
  const std::span<std::byte> ends[] = {memory.output.bytes().first(row_bytes), memory.output.bytes().last(row_bytes)};
  ExecutionOptions execution;
  execution.unit = small.spec.unit;
  execution.only_blocks.emplace();
  for (std::uint64_t k = 0; k < kBlocksOfARow; ++k) {
    execution.only_blocks->push_back(k);
    execution.only_blocks->push_back(simt::kLastBlock - k);
  }
  for (const KernelVariant& variant : kernel.variants(*shape)) {
    if (variant.ragged) continue;  // a padded copy of the workspace would be real memory
    for (const auto& end : ends) std::fill(end.begin(), end.end(), std::byte{0xff});
    const auto fault = kernel.launch(
        *shape, variant,
        {memory.lse.bytes(), memory.o.bytes(), memory.output.bytes(), std::as_bytes(std::span(small.attention_sink)),
         with_masses ? std::span<const std::byte>(memory.mass.bytes()) : std::span<const std::byte>()},
        execution);
    const std::string what =
        fmt::format("{} kernel, first and last of {} rows of {} heads", variant.name, shape->rows, shape->heads);
    if (fault) return LawOutcome::fail(what + ": " + fault->message);
    std::vector<std::uint32_t> got;
    for (const auto& end : ends) {
      const auto bits = unpack_bits(shape->out, end);
      got.insert(got.end(), bits.begin(), bits.end());
    }
    const auto difference = first_difference(shape->out, columns, expected.out_bits, got, BitComparison::every_bit);
    if (difference) return LawOutcome::fail(what + ", against two row-heads alone: " + *difference);
  }
  return LawOutcome::pass();
}

}  // namespace lsecheck
