#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "properties/case_kernel.h"

// Executes the kernel of a case and brings back its output bits.
namespace lsecheck {

// The backend of every run that does not name one: cpu, until a command chooses another before its first case.
Backend backend_in_use();
void use_backend(Backend backend);

struct RunOptions {
  std::optional<Backend> backend;        // default: backend_in_use()
  std::optional<KernelVariant> variant;  // default: the one the case's selection asks for
  std::uint8_t poison = 0xff;            // what every output byte holds before the launch; 0xff.. is NaN in every type
  std::optional<Schedule> schedule;      // default: the case's
  std::uint64_t schedule_seed = 0;
  unsigned jobs = 1;
};

struct KernelRun {
  std::vector<std::uint32_t> out_bits;  // [rows_heads * columns_of(spec)], 16-bit types in the low half
  std::optional<std::string> fault;     // the executor's, or memory around the output or an input that changed
};

// Bits to the packed memory that a kernel reads, and back.
std::vector<std::byte> pack_bits(DType type, const std::vector<std::uint32_t>& bits);
std::vector<std::uint32_t> unpack_bits(DType type, std::span<const std::byte> bytes);

KernelRun run_kernel(const CaseTensors& tensors, const RunOptions& options = {});

}  // namespace lsecheck
