#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// The kernels that nvcc compiled. An instantiation table is dealt out to several objects, its shards: entry i is in
// shard i mod the number of shards, so that they compile in parallel and none takes long.
//
// To build a further kernel for the GPU (NAME: its short name, "fa4"):
//   NAME_entry.h     its table as one flat list: an entry type with == and template_id(), the list, and a struct
//                    NameTable with kEntries
//   NAME_shard.cu    the function of an entry; specialises append_shard()
//   NAME_launch.cpp  what a launch of it looks like: NAME_on_device() in device_combine.h, and NAME_compiled()
//   device_combine.cpp  one line in each of the two lists
//   cmake/cuda.cmake    one line: lsecheck_cuda_kernel(NAME shards)
// and its CombineKernel passes Backend::cuda on to cuda::launch() and says has_cuda_build(). cuda_audit_test.cpp wants
// to know what the machine code of an entry must look like.
namespace lsecheck::cuda {

struct CompiledKernel {
  std::size_t entry;     // index into Table::kEntries
  const void* function;  // of the runtime's launch calls
};

// Specialised once in every shard.
template <class Table, int kShard>
void append_shard(std::vector<CompiledKernel>& kernels);

// In a shard: FunctionOf::of<entry>() is the function of a table's entry.
template <class FunctionOf, std::size_t kFirst, std::size_t kStride, std::size_t... kIndex>
void append_entries(std::vector<CompiledKernel>& kernels, std::index_sequence<kIndex...>) {
  (kernels.push_back({kFirst + kIndex * kStride, FunctionOf::template of<kFirst + kIndex * kStride>()}), ...);
}
template <class Table, class FunctionOf, std::size_t kShard, std::size_t kShards>
void append_entries(std::vector<CompiledKernel>& kernels) {
  constexpr std::size_t kCount = (Table::kEntries.size() - kShard + kShards - 1) / kShards;
  append_entries<FunctionOf, kShard, kShards>(kernels, std::make_index_sequence<kCount>{});
}

// On the host: everything the shards hold.
template <class Table, int... kShard>
std::vector<CompiledKernel> collect_shards(std::integer_sequence<int, kShard...>) {
  std::vector<CompiledKernel> kernels;
  (append_shard<Table, kShard>(kernels), ...);
  return kernels;
}

// "fa4_splitk_combine<bf16, bf16, 128, 37>" of every compiled entry.
template <class Table>
std::vector<std::string> template_ids(const std::vector<CompiledKernel>& kernels) {
  std::vector<std::string> names;
  names.reserve(kernels.size());
  for (const CompiledKernel& kernel : kernels) names.push_back(template_id(Table::kEntries[kernel.entry]));
  return names;
}

// Throws std::invalid_argument where no shard has the entry.
template <class Table, class Entry>
const void* function_of(const std::vector<CompiledKernel>& kernels, const Entry& entry) {
  for (const CompiledKernel& kernel : kernels) {
    if (Table::kEntries[kernel.entry] == entry) return kernel.function;
  }
  throw std::invalid_argument("no CUDA kernel " + template_id(entry));
}

}  // namespace lsecheck::cuda
