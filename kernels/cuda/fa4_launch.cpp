#include "kernels/cuda/fa4_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/cuda_workspace.h"
#include "kernels/cuda/fa4_shard.h"

namespace lsecheck::cuda {

namespace {

template <int... kShard>
std::vector<Fa4Kernel> collect_shards(std::integer_sequence<int, kShard...>) {
  std::vector<Fa4Kernel> kernels;
  (append_fa4_shard<kShard>(kernels), ...);
  std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.entry < b.entry; });
  return kernels;
}

const std::vector<Fa4Kernel>& fa4_kernels() {
  static const std::vector<Fa4Kernel> kernels = collect_shards(std::make_integer_sequence<int, LSECHECK_FA4_SHARDS>{});
  return kernels;
}

// One stretch of memory holds everything a launch may touch, with guard bytes before, between and after:
// guard | lse_partial | guard | o_partial | guard | output | guard.
constexpr std::size_t kGuardBytes = 1024;
constexpr std::byte kGuard{0xa5};

struct MemoryMap {
  std::size_t lse, o, output, end;

  explicit MemoryMap(const CombineBuffers& buffers)
      : lse(kGuardBytes),
        o(after(lse + buffers.lse_partial.size())),
        output(after(o + buffers.o_partial.size())),
        end(after(output + buffers.output.size())) {}

 private:
  // Buffers begin where cudaMalloc would put them: at a multiple of 256.
  static std::size_t after(std::size_t offset) { return (offset + kGuardBytes + 255) / 256 * 256; }
};

void fill(std::byte* memory, const MemoryMap& map, const CombineBuffers& buffers) {
  std::memset(memory, static_cast<int>(kGuard), map.end);
  std::memcpy(memory + map.lse, buffers.lse_partial.data(), buffers.lse_partial.size());
  std::memcpy(memory + map.o, buffers.o_partial.data(), buffers.o_partial.size());
  std::memcpy(memory + map.output, buffers.output.data(), buffers.output.size());
}

// Everything but the output must come back as it was sent.
std::optional<simt::Fault> changed_memory(const std::string& kernel, const Workspace& workspace, const MemoryMap& map,
                                          const CombineBuffers& buffers) {
  const std::size_t output_end = map.output + buffers.output.size();
  const std::pair<std::size_t, std::size_t> kept[] = {{0, map.output}, {output_end, map.end}};
  for (const auto& [begin, end] : kept) {
    if (std::memcmp(workspace.sent() + begin, workspace.received() + begin, end - begin) == 0) continue;
    const std::byte* const first =
        std::mismatch(workspace.sent() + begin, workspace.sent() + end, workspace.received() + begin).first;
    const auto at = static_cast<std::size_t>(first - workspace.sent());
    const auto inside = [at](std::size_t offset, std::size_t size) { return at >= offset && at - offset < size; };
    if (inside(map.lse, buffers.lse_partial.size())) {
      return simt::Fault{
          simt::FaultKind::store_to_input, 0,
          fmt::format("kernel {} on the device changed byte {} of the input lse_partial", kernel, at - map.lse)};
    }
    if (inside(map.o, buffers.o_partial.size())) {
      return simt::Fault{
          simt::FaultKind::store_to_input, 0,
          fmt::format("kernel {} on the device changed byte {} of the input o_partial", kernel, at - map.o)};
    }
    return simt::Fault{
        simt::FaultKind::store_out_of_range, 0,
        fmt::format("kernel {} on the device wrote outside its output of {} bytes, at byte {}", kernel,
                    buffers.output.size(), static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(map.output))};
  }
  return std::nullopt;
}

}  // namespace

std::vector<sm100::Fa4Entry> fa4_entries() {
  std::vector<sm100::Fa4Entry> entries;
  for (const Fa4Kernel& kernel : fa4_kernels()) entries.push_back(sm100::kFa4Entries[kernel.entry]);
  return entries;
}

const void* fa4_function(const sm100::Fa4Entry& entry) {
  for (const Fa4Kernel& kernel : fa4_kernels()) {
    if (sm100::kFa4Entries[kernel.entry] == entry) return kernel.function;
  }
  throw std::invalid_argument(fmt::format("no CUDA kernel for {} <- {}, depth {}, P_STATIC {}", name_of(entry.out),
                                          name_of(entry.partial), entry.ov_depth, entry.p_static));
}

void enqueue_fa4(const void* function, const CombineShape& shape, const Fa4DeviceBuffers& buffers,
                 cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = {static_cast<unsigned>(shape.rows_heads()), 1, 1};
  config.blockDim = {32, 1, 1};
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  Fa4DeviceBuffers pointers = buffers;
  int num_partitions = shape.num_partitions;
  unsigned rows = shape.rows;
  unsigned heads = shape.heads;
  void* arguments[] = {&pointers.lse_partial, &pointers.o_partial, &pointers.output, &num_partitions, &rows, &heads};
  check(cudaLaunchKernelExC(&config, function, arguments), "launching fa4_splitk_combine");
}

std::optional<simt::Fault> launch_fa4(const CombineShape& shape, const KernelVariant& variant,
                                      const CombineBuffers& buffers) {
  require_device();
  const sm100::Fa4Entry entry{shape.out, shape.partial, shape.ov_depth, variant.p_static};
  const void* const function = fa4_function(entry);
  const std::string name = fmt::format("fa4_splitk_combine<{}, {}, {}, {}>", name_of(entry.out), name_of(entry.partial),
                                       entry.ov_depth, entry.p_static);
  const MemoryMap map(buffers);
  const BorrowedWorkspace workspace(map.end);
  fill(workspace->sent(), map, buffers);
  workspace->send(map.end);
  std::byte* const device = workspace->device();
  enqueue_fa4(function, shape, {device + map.lse, device + map.o, device + map.output}, workspace->stream());
  workspace->receive(map.end);
  workspace->wait(name.c_str());
  if (auto fault = changed_memory(name, *workspace, map, buffers)) return fault;
  std::memcpy(buffers.output.data(), workspace->received() + map.output, buffers.output.size());
  return std::nullopt;
}

}  // namespace lsecheck::cuda
