#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/cuda_workspace.h"
#include "kernels/cuda/device_combine.h"

// One launch with everything that it may touch in one stretch of memory, guard bytes before, between and after:
// guard | input | guard | input | ... | output | guard.
namespace lsecheck::cuda {

namespace {

constexpr std::size_t kGuardBytes = 1024;
constexpr std::byte kGuard{0xa5};

struct Input {
  const char* name;
  std::span<const std::byte> bytes;
  const void* DeviceBuffers::*argument;
  std::size_t offset = 0;  // in the stretch
};

struct MemoryMap {
  std::array<Input, 5> inputs;  // an empty one is not there: its argument stays nullptr
  std::size_t output = 0;
  std::size_t end = 0;

  MemoryMap(const CombineBuffers& buffers, std::span<const std::uint32_t> row_offsets)
      : inputs{{{"lse_partial", buffers.lse_partial, &DeviceBuffers::lse_partial},
                {"o_partial", buffers.o_partial, &DeviceBuffers::o_partial},
                {"attention_sink", buffers.attention_sink, &DeviceBuffers::attention_sink},
                {"mass_partial", buffers.mass_partial, &DeviceBuffers::mass_partial},
                {"row_offsets", std::as_bytes(row_offsets), &DeviceBuffers::row_offsets}}} {
    std::size_t next = kGuardBytes;
    for (Input& input : inputs) {
      input.offset = next;
      if (!input.bytes.empty()) next = after(next + input.bytes.size());
    }
    output = next;
    end = after(output + buffers.output.size());
  }

 private:
  // Buffers begin where cudaMalloc would put them: at a multiple of 256.
  static std::size_t after(std::size_t offset) { return (offset + kGuardBytes + 255) / 256 * 256; }
};

void fill(std::byte* memory, const MemoryMap& map, std::span<const std::byte> output) {
  std::memset(memory, static_cast<int>(kGuard), map.end);
  for (const Input& input : map.inputs) {
    if (!input.bytes.empty()) std::memcpy(memory + input.offset, input.bytes.data(), input.bytes.size());
  }
  std::memcpy(memory + map.output, output.data(), output.size());
}

DeviceBuffers pointers_into(std::byte* device, const MemoryMap& map) {
  DeviceBuffers pointers;
  for (const Input& input : map.inputs) {
    if (!input.bytes.empty()) pointers.*input.argument = device + input.offset;
  }
  pointers.output = device + map.output;
  return pointers;
}

simt::Fault changed_byte(const std::string& kernel, const MemoryMap& map, std::size_t output_bytes, std::size_t at) {
  for (const Input& input : map.inputs) {
    if (at < input.offset || at - input.offset >= input.bytes.size()) continue;
    return {
        simt::FaultKind::store_to_input, 0,
        fmt::format("kernel {} on the device changed byte {} of the input {}", kernel, at - input.offset, input.name)};
  }
  return {simt::FaultKind::store_out_of_range, 0,
          fmt::format("kernel {} on the device wrote outside its output of {} bytes, at byte {}", kernel, output_bytes,
                      static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(map.output))};
}

// Everything but the output must come back as it was sent.
std::optional<simt::Fault> changed_memory(const std::string& kernel, const Workspace& workspace, const MemoryMap& map,
                                          std::size_t output_bytes) {
  const std::pair<std::size_t, std::size_t> kept[] = {{0, map.output}, {map.output + output_bytes, map.end}};
  for (const auto& [begin, end] : kept) {
    if (std::memcmp(workspace.sent() + begin, workspace.received() + begin, end - begin) == 0) continue;
    const std::byte* const first =
        std::mismatch(workspace.sent() + begin, workspace.sent() + end, workspace.received() + begin).first;
    return changed_byte(kernel, map, output_bytes, static_cast<std::size_t>(first - workspace.sent()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<simt::Fault> launch(std::string_view kernel, const CombineShape& shape, const KernelVariant& variant,
                                  const CombineBuffers& buffers, std::span<const std::uint32_t> row_offsets) {
  require_device();
  const DeviceCombine combine = on_device(kernel, shape, variant);
  const MemoryMap map(buffers, row_offsets);
  const BorrowedWorkspace workspace(map.end);
  fill(workspace->sent(), map, buffers.output);
  workspace->send(map.end);
  combine.enqueue(pointers_into(workspace->device(), map), workspace->stream());
  workspace->receive(map.end, combine.name);
  wait_for(workspace->stream(), combine.name);
  if (auto fault = changed_memory(combine.name, *workspace, map, buffers.output.size())) return fault;
  std::memcpy(buffers.output.data(), workspace->received() + map.output, buffers.output.size());
  return std::nullopt;
}

}  // namespace lsecheck::cuda
