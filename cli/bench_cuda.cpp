#include "cli/bench_cuda.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>

#include "cli/cuda_device.h"
#include "kernels/cuda/cuda_bench.h"
#include "kernels/registry.h"

namespace lsecheck::cli {
namespace {

struct BenchShape {
  int num_partitions;
  std::uint32_t rows_heads;
  int ov_depth;
};

// Small and large grids at few and many partitions; 10 MB to 317 MB.
constexpr BenchShape kShapes[] = {{2, 32768, 128}, {8, 16384, 128},  {37, 1024, 128}, {37, 16384, 128},
                                  {148, 256, 128}, {148, 4096, 128}, {16, 8192, 512}};

}  // namespace

void bench_cuda(int repeats) {
  const cuda::Device& device = cuda_device_or_exit("bench --backend cuda");
  const double ceiling = cuda::copy_bytes_per_second(repeats);
  fmt::print("{}\ndevice-to-device copy {:.0f} GB/s (read and written), median of {}\n\n", cuda::describe(device),
             ceiling * 1e-9, repeats);
  fmt::print("{:<22}{:<13}{:<9}{:>8}{:>11}{:>10}{:>10}{:>11}\n", "P, rows*heads, depth", "types", "kernel", "MB", "us",
             "GB/s", "of copy", "registers");
  const CombineKernel& kernel = *find_kernel("fa4_splitk_combine");
  for (const DType partial : {DType::bf16, DType::f32}) {
    for (const BenchShape& at : kShapes) {
      const CombineShape shape{device.arch, at.num_partitions, at.rows_heads, 1, at.ov_depth, DType::bf16, partial};
      for (const KernelVariant& variant : kernel.variants(shape)) {
        const cuda::CombineTiming timing = cuda::time_fa4(shape, variant, repeats);
        const double rate = static_cast<double>(timing.bytes) / timing.seconds;
        fmt::print("{:<22}{:<13}{:<9}{:>8.1f}{:>11.2f}{:>10.0f}{:>10.3f}{:>11}\n",
                   fmt::format("{}, {}, {}", at.num_partitions, at.rows_heads, at.ov_depth),
                   fmt::format("bf16<-{}", name_of(partial)), variant.name, static_cast<double>(timing.bytes) * 1e-6,
                   timing.seconds * 1e6, rate * 1e-9, rate / ceiling, timing.registers);
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace lsecheck::cli
