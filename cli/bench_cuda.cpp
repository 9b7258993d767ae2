#include "cli/bench_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "cli/cuda_device.h"
#include "kernels/cuda/cuda_bench.h"
#include "kernels/dispatch/mla_dispatch.h"
#include "kernels/registry.h"

namespace lsecheck::cli {
namespace {

struct Fa4BenchShape {
  int num_partitions;
  std::uint32_t rows_heads;
  int ov_depth;
};

// Small and large grids at few and many partitions; 10 MB to 317 MB.
constexpr Fa4BenchShape kFa4Shapes[] = {{2, 32768, 128}, {8, 16384, 128},  {37, 1024, 128}, {37, 16384, 128},
                                        {148, 256, 128}, {148, 4096, 128}, {16, 8192, 512}};

struct MlaBenchShape {
  int num_partitions;
  std::uint32_t batch;
  std::uint32_t heads;
  std::int64_t cache_len;
};

// Between them they are given to every kernel that production chooses from: 1, 2, 4 and 8 warps per head, and the
// split-parallel kernel for long caches of few sequences. Split counts are buckets of every chip.
constexpr MlaBenchShape kMlaShapes[] = {{2, 128, 128, 1024}, {8, 64, 128, 8192}, {16, 32, 128, 8192},
                                        {37, 2, 128, 8192},  {64, 1, 16, 8192},  {32, 2, 128, 65536},
                                        {64, 1, 128, 131072}};

class BenchTable {
 public:
  BenchTable(double copy_rate, int repeats) : copy_rate_(copy_rate), repeats_(repeats) {}

  static void print_head() {
    fmt::print("{:<36}{:<22}{:<12}{:>9}{:>8}{:>10}{:>10}{:>8}{:>9}{:>11}\n", "kernel", "P, rows*heads, depth", "types",
               "variant", "MB", "us", "floor us", "GB/s", "of copy", "registers");
  }

  void measure(const CombineKernel& kernel, const CombineShape& shape, const KernelVariant& variant) const {
    const cuda::CombineTiming timing = cuda::time_combine(kernel.name(), shape, variant, repeats_);
    const double bytes = static_cast<double>(timing.bytes);
    const double rate = bytes / timing.seconds;
    fmt::print("{:<36}{:<22}{:<12}{:>9}{:>8.1f}{:>10.2f}{:>10.2f}{:>8.0f}{:>9.3f}{:>11}\n", kernel.name(),
               fmt::format("{}, {}, {}", shape.num_partitions, shape.rows_heads(), shape.ov_depth),
               fmt::format("{}<-{}", name_of(shape.out), name_of(shape.partial)), variant.name, bytes * 1e-6,
               timing.seconds * 1e6, bytes / copy_rate_ * 1e6, rate * 1e-9, rate / copy_rate_, timing.registers);
    std::fflush(stdout);
  }

 private:
  double copy_rate_;  // bytes per second, read and written
  int repeats_;
};

void measure_fa4(const BenchTable& table, Arch arch) {
  const CombineKernel& kernel = *find_kernel("fa4_splitk_combine");
  for (const DType partial : {DType::bf16, DType::f32}) {
    for (const Fa4BenchShape& at : kFa4Shapes) {
      const CombineShape shape{arch, at.num_partitions, at.rows_heads, 1, at.ov_depth, DType::bf16, partial};
      for (const KernelVariant& variant : kernel.variants(shape)) table.measure(kernel, shape, variant);
    }
  }
}

// The kernel and the variant that production launches for the shape.
void measure_mla(const BenchTable& table, Arch arch) {
  for (const MlaBenchShape& at : kMlaShapes) {
    MlaCombineRequest request;
    request.sm_count = sm_count_of(arch);
    request.batch = at.batch;
    request.heads = at.heads;
    request.cache_len = at.cache_len;
    request.num_partitions = at.num_partitions;
    const MlaCombineChoice choice = choose_mla_combine(request);
    const CombineKernel& kernel = *find_kernel(choice.split_parallel ? "mla_combine_split_parallel" : "mla_combine");
    const CombineShape shape{arch, at.num_partitions, at.batch, at.heads, 512, DType::bf16, DType::bf16};
    const std::vector<KernelVariant> variants = kernel.variants(shape);
    table.measure(kernel, shape, *std::find_if(variants.begin(), variants.end(), [&](const KernelVariant& variant) {
                    return !variant.ragged &&
                           (choice.split_parallel || variant.warps_per_head == choice.warps_per_head);
                  }));
  }
}

}  // namespace

void bench_cuda(int repeats) {
  const cuda::Device& device = cuda_device_or_exit("bench --backend cuda");
  const double copy_rate = cuda::copy_bytes_per_second(repeats);
  fmt::print(
      "{}\ndevice-to-device copy {:.0f} GB/s (read and written), median of {}; floor: every byte once at that "
      "rate\n\n",
      cuda::describe(device), copy_rate * 1e-9, repeats);
  const BenchTable table(copy_rate, repeats);
  BenchTable::print_head();
  measure_fa4(table, device.arch);
  measure_mla(table, device.arch);
}

}  // namespace lsecheck::cli
