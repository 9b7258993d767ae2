#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/cuda_device.h"
#include "cli/exit_codes.h"
#include "kernels/cuda/sfu_sweep.h"
#include "kernels/sfu/sfu.h"
#include "properties/whole_file.h"

namespace lsecheck::cli {
namespace {

using sfu::Instruction;

constexpr std::array<Instruction, 5> kInstructions{Instruction::ex2_approx_ftz, Instruction::ex2_approx,
                                                   Instruction::lg2_approx_ftz, Instruction::lg2_approx,
                                                   Instruction::rcp_approx_ftz};
constexpr std::uint32_t kInputsPerBlock = 1U << 23;

struct Sweep {
  Instruction instruction;
  std::array<std::uint64_t, 512> digests;
  std::vector<std::uint32_t> differing;  // blocks
};

Sweep sweep(Instruction instruction) {
  Sweep result{instruction, cuda::measure_digests(instruction), {}};
  for (std::uint32_t block = 0; block < result.digests.size(); ++block) {
    if (result.digests[block] != sfu::h200_digest(instruction, block)) result.differing.push_back(block);
  }
  return result;
}

// The first input of a block for which the device and the model differ, as a line.
std::string first_difference(Instruction instruction, std::uint32_t block) {
  const std::vector<std::uint32_t> outputs = cuda::measure_block(instruction, block);
  for (std::uint32_t i = 0; i < kInputsPerBlock; ++i) {
    const std::uint32_t input = block * kInputsPerBlock + i;
    const auto x = std::bit_cast<float>(input);
    const auto model = std::bit_cast<std::uint32_t>(sfu::h200_evaluate(instruction, x));
    if (outputs[i] == model) continue;
    return fmt::format("{} of {:#010x} ({}): the device gives {:#010x} ({}), the model {:#010x} ({})",
                       sfu::name_of(instruction), input, x, outputs[i], std::bit_cast<float>(outputs[i]), model,
                       std::bit_cast<float>(model));
  }
  return fmt::format(
      "{} block {}: every output equals the model's, yet the digest does not: two sweeps of the device differ, or the "
      "stored digest is damaged (run the kernels tests *SfuDigest*)",
      sfu::name_of(instruction), block);
}

// "instruction block digest", one line each.
std::string digests_text(const std::vector<Sweep>& sweeps, const cuda::Device& device) {
  std::string text =
      fmt::format("# special-function unit of {}\n# instruction block digest (kernels/sfu/h200_digests.h)\n",
                  cuda::describe(device));
  for (const Sweep& one : sweeps) {
    for (std::size_t block = 0; block < one.digests.size(); ++block) {
      text += fmt::format("{} {} {:016x}\n", sfu::name_of(one.instruction), block, one.digests[block]);
    }
  }
  return text;
}

void calibrate(const std::string& out) {
  const cuda::Device& device =
      cuda_device_or_exit("calibrate", "it needs an NVIDIA GPU that the kernels are built for");
  if (!out.empty()) check_file_writable(out);  // an unwritable file is found out before the work
  fmt::print("{}\n\n{:<16}{:>14}{:>14}\n", cuda::describe(device), "instruction", "blocks equal", "differing");
  std::vector<Sweep> sweeps;
  bool equal = true;
  for (const Instruction instruction : kInstructions) {
    const Sweep& done = sweeps.emplace_back(sweep(instruction));
    fmt::print("{:<16}{:>14}{:>14}\n", sfu::name_of(instruction), done.digests.size() - done.differing.size(),
               done.differing.size());
    equal = equal && done.differing.empty();
  }
  if (!out.empty()) write_file_atomically(out, digests_text(sweeps, device));
  if (equal) {
    fmt::print("\nEQUAL: on all 2^32 inputs of each instruction the device gives the bits of --sfu h200\n");
    return;
  }
  fmt::print("\nDIFFERENT: this unit is not the one of --sfu h200\n");
  for (const Sweep& one : sweeps) {
    if (one.differing.empty()) continue;
    fmt::print("  first differing block {} of {}\n  {}\n", one.differing.front(), one.differing.size(),
               first_difference(one.instruction, one.differing.front()));
  }
  fmt::print(
      "The twin law cannot hold on this chip until the model does. Keep the digests ({}), fit this chip's segment "
      "tables to a sweep,\nand add them beside kernels/sfu/h200_tables.cpp as a unit of its own.\n",
      out.empty() ? "write them with --out FILE" : out);
  throw ExitWith{kFailed};
}

}  // namespace

void add_calibrate_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "sweep a GPU's special-function unit over all 2^32 inputs and compare it with --sfu h200");
  const auto out = std::make_shared<std::string>();
  command->add_option("--out", *out, "write the measured block digests")->type_name("FILE");
  command->footer("exit codes: 0 every bit is equal; 1 some are not; 4 no usable device");
  command->callback([out] { calibrate(*out); });
}

}  // namespace lsecheck::cli
