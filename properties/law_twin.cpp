#include <fmt/format.h>

#include "kernels/cuda/cuda_backend.h"
#include "properties/law_tools.h"

namespace lsecheck {

// The premise asks for the backend in use, not for a GPU: what a run on the CPU counts must not depend on the machine.
LawOutcome check_twin(const CaseTensors& tensors, Reference&) {
  const CaseSpec& spec = tensors.spec;
  if (backend_in_use() != Backend::cuda) return LawOutcome::skip("needs --backend cuda");
  if (spec.unit.kind != sfu::UnitKind::h200) return LawOutcome::skip("needs the measured unit: sfu h200");
  const auto& device = cuda::availability().device;
  if (!device) return LawOutcome::skip(cuda::availability().reason);
  if (device->arch != spec.arch) {
    return LawOutcome::skip(
        fmt::format("the case is for {}, the device is {}", name_of(spec.arch), name_of(device->arch)));
  }

  RunOptions on_cpu;
  on_cpu.backend = Backend::cpu;
  on_cpu.schedule = Schedule::lockstep;
  RunOptions on_gpu;
  on_gpu.backend = Backend::cuda;
  for (const KernelVariant& variant : kernel_of(spec).variants(shape_of(spec))) {
    on_cpu.variant = on_gpu.variant = variant;
    const KernelRun expected = run_kernel(tensors, on_cpu);
    if (expected.fault) return LawOutcome::fail("on the CPU: " + *expected.fault);
    const KernelRun got = run_kernel(tensors, on_gpu);
    if (got.fault) return LawOutcome::fail("on the GPU: " + *got.fault);
    const auto difference =
        first_difference(spec.out, columns_of(spec), expected.out_bits, got.out_bits, BitComparison::every_bit);
    if (difference) return LawOutcome::fail(fmt::format("{} kernel, CPU against GPU: {}", variant.name, *difference));
  }
  return LawOutcome::pass();
}

}  // namespace lsecheck
