#include "properties/run_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>

#include "kernels/registry.h"

namespace lsecheck {

namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr std::byte kGuard{0xa5};

// Bits to the packed memory the kernel reads, and back.
std::vector<std::byte> pack(DType type, const std::vector<std::uint32_t>& bits) {
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

std::vector<std::uint32_t> unpack(DType type, std::span<const std::byte> bytes) {
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

bool all_guard(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == kGuard; });
}

std::atomic<Backend> backend_of_process{Backend::cpu};

}  // namespace

Backend backend_in_use() {
  return backend_of_process;
}

void use_backend(Backend backend) {
  backend_of_process = backend;
}

const CombineKernel& kernel_of(const CaseSpec& spec) {
  const CombineKernel* const kernel = find_kernel(name_of(spec.kernel));
  if (kernel == nullptr) throw std::invalid_argument(fmt::format("no kernel {}", name_of(spec.kernel)));
  return *kernel;
}

CombineShape shape_of(const CaseSpec& spec) {
  return {spec.arch, spec.num_partitions, spec.rows, spec.heads, spec.ov_depth, spec.out, spec.partial};
}

KernelVariant variant_of(const CaseSpec& spec) {
  const std::vector<KernelVariant> variants = kernel_of(spec).variants(shape_of(spec));
  if (spec.selection == Selection::runtime_p) return variants.back();
  if (spec.selection == Selection::alternative) return variants[1 + spec.seed % (variants.size() - 1)];
  return variants.front();
}

KernelRun run_kernel(const CaseTensors& tensors, const RunOptions& options) {
  const CaseSpec& spec = tensors.spec;
  const CombineKernel& kernel = kernel_of(spec);
  const CombineShape shape = shape_of(spec);
  if (const auto refusal = kernel.refuse(shape)) throw std::invalid_argument(*refusal);

  const std::size_t lse_bytes = tensors.lse_partial.size() * sizeof(float);
  std::vector<std::byte> lse(lse_bytes);
  std::memcpy(lse.data(), tensors.lse_partial.data(), lse_bytes);
  const std::vector<std::byte> o = pack(spec.partial, tensors.o_partial);
  const std::vector<std::byte> o_before = o;
  std::vector<std::byte> sink(tensors.attention_sink.size() * sizeof(float));
  if (!sink.empty()) std::memcpy(sink.data(), tensors.attention_sink.data(), sink.size());

  const std::size_t out_bytes = spec.rows_heads() * spec.ov_depth * size_of(spec.out);
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
          kernel.launch(shape, options.variant.value_or(variant_of(spec)), {lse, o, output, sink}, execution)) {
    run.fault = fault->message;
    return run;
  }
  if (!all_guard(std::span(guarded).first(kGuardBytes)) || !all_guard(std::span(guarded).last(kGuardBytes))) {
    run.fault = fmt::format("{} wrote outside its output", kernel.name());
  } else if (std::memcmp(lse.data(), tensors.lse_partial.data(), lse_bytes) != 0 || o != o_before ||
             (!sink.empty() && std::memcmp(sink.data(), tensors.attention_sink.data(), sink.size()) != 0)) {
    run.fault = fmt::format("{} modified an input", kernel.name());
  }
  run.out_bits = unpack(spec.out, output);
  return run;
}

}  // namespace lsecheck
