#include "properties/run_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>

namespace lsecheck {

namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr std::byte kGuard{0xa5};

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

bool all_guard(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == kGuard; });
}

std::atomic<Backend> backend_of_process{Backend::cpu};

}  // namespace

std::vector<std::byte> pack_bits(DType type, const std::vector<std::uint32_t>& bits) {
  const std::size_t width = size_of(type);
  std::vector<std::byte> bytes(bits.size() * width);
  if (width == 4) {
    std::memcpy(bytes.data(), bits.data(), bytes.size());
  } else {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const auto half = static_cast<std::uint16_t>(bits[i]);
      std::memcpy(bytes.data() + 2 * i, &half, 2);
    }
  }
  return bytes;
}

std::vector<std::uint32_t> unpack_bits(DType type, std::span<const std::byte> bytes) {
  const std::size_t width = size_of(type);
  std::vector<std::uint32_t> bits(bytes.size() / width);
  if (width == 4) {
    std::memcpy(bits.data(), bytes.data(), bytes.size());
  } else {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      std::uint16_t half = 0;
      std::memcpy(&half, bytes.data() + 2 * i, 2);
      bits[i] = half;
    }
  }
  return bits;
}

Backend backend_in_use() {
  return backend_of_process;
}

void use_backend(Backend backend) {
  backend_of_process = backend;
}

KernelRun run_kernel(const CaseTensors& tensors, const RunOptions& options) {
  const CaseSpec& spec = tensors.spec;
  const CombineKernel& kernel = kernel_of(spec);
  const CombineShape shape = shape_of(tensors);
  if (const auto refusal = kernel.refuse(shape)) throw std::invalid_argument(*refusal);

  const std::vector<std::byte> lse = bytes_of(tensors.lse_partial);
  const std::vector<std::byte> mass = bytes_of(tensors.mass_partial);
  const std::vector<std::byte> sink = bytes_of(tensors.attention_sink);
  const std::vector<std::byte> o = pack_bits(spec.partial, tensors.o_partial);

  const std::size_t out_bytes = spec.rows_heads() * kernel.output_columns(shape) * size_of(spec.out);
  std::vector<std::byte> guarded(out_bytes + 2 * kGuardBytes, kGuard);
  const std::span<std::byte> output(guarded.data() + kGuardBytes, out_bytes);
  std::fill(output.begin(), output.end(), std::byte{options.poison});

  const ExecutionOptions execution{.backend = options.backend.value_or(backend_in_use()),
                                   .unit = spec.unit,
                                   .schedule = options.schedule.value_or(spec.schedule),
                                   .schedule_seed = options.schedule_seed ^ spec.seed,
                                   .jobs = options.jobs,
                                   .only_blocks = std::nullopt};
  KernelRun run;
  if (const auto fault =
          kernel.launch(shape, options.variant.value_or(variant_of(spec)), {lse, o, output, sink, mass}, execution)) {
    run.fault = fault->message;
    return run;
  }
  if (!all_guard(std::span(guarded).first(kGuardBytes)) || !all_guard(std::span(guarded).last(kGuardBytes))) {
    run.fault = fmt::format("{} wrote outside its output", kernel.name());
  } else if (lse != bytes_of(tensors.lse_partial) || mass != bytes_of(tensors.mass_partial) ||
             sink != bytes_of(tensors.attention_sink) || o != pack_bits(spec.partial, tensors.o_partial)) {
    run.fault = fmt::format("{} modified an input", kernel.name());
  }
  run.out_bits = unpack_bits(spec.out, output);
  return run;
}

}  // namespace lsecheck
