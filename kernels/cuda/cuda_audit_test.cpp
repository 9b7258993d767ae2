#include <cxxabi.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_backend.h"

// What nvcc made of the kernels, inspected: the resource reports of ptxas, kept by the build, and the machine code in
// this very program, where a disassembler is found. Nothing here needs a GPU.
namespace lsecheck::cuda {
namespace {

using sm100::Fa4Entry;

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

// The table entry of a kernel's mangled name; nullopt for other kernels.
std::optional<Fa4Entry> entry_of(const std::string& mangled) {
  static const std::regex kForm(
      R"(fa4_splitk_combine<(float|lsecheck::bf16|lsecheck::f16), (float|lsecheck::bf16|lsecheck::f16), (\d+), (\d+)>)");
  const std::string name = demangled(mangled);
  std::smatch match;
  if (!std::regex_search(name, match, kForm)) return std::nullopt;
  const auto type = [](const std::string& text) {
    if (text == "float") return DType::f32;
    return text == "lsecheck::bf16" ? DType::bf16 : DType::f16;
  };
  return Fa4Entry{type(match[1]), type(match[2]), std::stoi(match[3]), std::stoi(match[4])};
}

std::string text_of(const Fa4Entry& entry) {
  return std::string(name_of(entry.out)) + " <- " + std::string(name_of(entry.partial)) + ", depth " +
         std::to_string(entry.ov_depth) + ", P_STATIC " + std::to_string(entry.p_static);
}

// Bytes of one access to the partials, and how many of them a partition takes per lane; nothing for the scalar depths.
struct VectorShape {
  int bytes;
  int chunks;
};
std::optional<VectorShape> vector_shape(const Fa4Entry& entry) {
  if (entry.ov_depth % 64 != 0 || (entry.ov_depth & (entry.ov_depth - 1)) != 0) return std::nullopt;
  const int element = static_cast<int>(size_of(entry.partial));
  const int bytes = std::min(entry.ov_depth / 32 * element, 16);
  return VectorShape{bytes, entry.ov_depth * element / (32 * bytes)};
}

TEST(CudaResources, NoKernelOfTheTableTouchesLocalMemory) {
#if !defined(LSECHECK_CUDA_REPORTS)
  GTEST_SKIP() << "this build has no CUDA kernels";
#else
  if (!std::filesystem::exists(LSECHECK_CUDA_REPORTS)) {
    GTEST_SKIP() << "the compiler's reports are not on this machine: " << LSECHECK_CUDA_REPORTS;
  }
  static const std::regex kFunction(R"(Compiling entry function '(\S+)' for '(sm_\w+)')");
  static const std::regex kMemory(R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads)");
  std::map<std::string, std::size_t> kernels_of_arch;
  for (const auto& file : std::filesystem::directory_iterator(LSECHECK_CUDA_REPORTS)) {
    if (file.path().extension() != ".log") continue;
    std::ifstream lines(file.path());
    std::string line, arch;
    std::optional<Fa4Entry> entry;
    while (std::getline(lines, line)) {
      std::smatch match;
      if (std::regex_search(line, match, kFunction)) {
        entry = entry_of(match[1]);
        arch = match[2];
      } else if (entry && std::regex_search(line, match, kMemory)) {
        ++kernels_of_arch[arch];
        if (entry->p_static == 0) continue;  // its slot index is dynamic
        EXPECT_TRUE(match[1] == "0" && match[2] == "0" && match[3] == "0")
            << arch << " " << text_of(*entry) << ":" << line;
      }
    }
  }
  EXPECT_GE(kernels_of_arch.size(), 2U);
  for (const auto& [arch, kernels] : kernels_of_arch) EXPECT_EQ(kernels, sm100::kFa4Entries.size()) << arch;
#endif
}

// --- machine code ---

// cuobjdump where the build found it, else on PATH; empty: none.
std::string disassembler() {
#if defined(LSECHECK_CUOBJDUMP)
  if (access(LSECHECK_CUOBJDUMP, X_OK) == 0) return LSECHECK_CUOBJDUMP;
#endif
  return std::system("cuobjdump --version >/dev/null 2>&1") == 0 ? "cuobjdump" : "";
}

// The instructions of every kernel of the table for one arch, without addresses and encodings.
std::map<std::string, std::vector<std::string>> machine_code(const std::string& tool, const std::string& arch) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "'" + tool + "' -sass -arch " + arch + " '" + program + "' 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::map<std::string, std::vector<std::string>> code;
  std::vector<std::string>* function = nullptr;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe.get()) != nullptr) {
    const std::string line(buffer.data());
    constexpr std::string_view kFunction = "Function : ";
    if (const auto at = line.find(kFunction); at != std::string::npos) {
      const std::string name =
          line.substr(at + kFunction.size(), line.find_last_not_of(" \n\r") + 1 - at - kFunction.size());
      function = entry_of(name) ? &code[name] : nullptr;
      continue;
    }
    // "        /*0010*/    @P0 LDG.E.128 R4, desc[UR4][R2.64] ;    /* 0x... */"
    const auto comment = line.find("/*");
    const auto text = line.find("*/", comment == std::string::npos ? 0 : comment);
    const auto end = line.find(" ;");
    if (function == nullptr || comment == std::string::npos || text == std::string::npos || end == std::string::npos ||
        end < text) {
      continue;
    }
    const auto begin = line.find_first_not_of(" \t", text + 2);
    function->push_back(line.substr(begin, end - begin));
  }
  return code;
}

// "LDG.E.128" of "@!P0 LDG.E.128 R4, ...".
std::string opcode_of(const std::string& instruction) {
  const auto begin = instruction.starts_with('@') ? instruction.find_first_not_of(' ', instruction.find(' ')) : 0;
  return instruction.substr(begin, instruction.find(' ', begin) - begin);
}

struct Counts {
  int ex2 = 0, lg2 = 0, calls = 0, local = 0, butterflies = 0, wide_loads = 0;
  bool load_before_wait = false;
  bool waits = false;
};

Counts count(const std::vector<std::string>& instructions, int vector_bytes) {
  Counts counts;
  for (const std::string& instruction : instructions) {
    const std::string opcode = opcode_of(instruction);
    counts.ex2 += opcode.starts_with("MUFU.EX2");
    counts.lg2 += opcode.starts_with("MUFU.LG2");
    counts.calls += opcode.starts_with("CALL");
    counts.local += opcode.starts_with("LDL") || opcode.starts_with("STL");
    counts.butterflies += opcode.starts_with("SHFL.BFLY");
    counts.waits = counts.waits || opcode.starts_with("ACQBULK");
    if (!opcode.starts_with("LDG")) continue;
    counts.load_before_wait = counts.load_before_wait || !counts.waits;
    const bool is_wide = vector_bytes == 16  ? opcode.find(".128") != std::string::npos
                         : vector_bytes == 8 ? opcode.find(".64") != std::string::npos
                                             : false;
    counts.wide_loads += is_wide;
  }
  return counts;
}

void audit(const std::string& arch, int butterflies) {
  const std::string tool = disassembler();
  if (fa4_entries().empty()) GTEST_SKIP() << "this build has no CUDA kernels";
  if (tool.empty()) GTEST_SKIP() << "no cuobjdump beside nvcc or on PATH: the machine code is not inspected";
  const auto code = machine_code(tool, arch);
  ASSERT_EQ(code.size(), sm100::kFa4Entries.size()) << "kernels found by " << tool << " for " << arch;
  for (const auto& [name, instructions] : code) {
    const Fa4Entry entry = *entry_of(name);
    SCOPED_TRACE(arch + " " + text_of(entry));
    const auto vector = vector_shape(entry);
    const Counts counts = count(instructions, vector ? vector->bytes : 0);
    // Two exponentials per slot: the sum's and the weight's.
    const int slots = ((entry.p_static > 0 ? entry.p_static : 160) + 31) / 32;
    EXPECT_EQ(counts.ex2, 2 * slots);
    EXPECT_EQ(counts.lg2, 1);
    EXPECT_EQ(counts.calls, 0) << "a library function stands where an instruction should";
    EXPECT_TRUE(counts.waits && !counts.load_before_wait) << "global memory is read before griddepcontrol.wait";
    EXPECT_EQ(counts.butterflies, butterflies);
    if (entry.p_static == 0) continue;
    EXPECT_EQ(counts.local, 0) << "local memory in a kernel of static P";
    if (vector && vector->bytes >= 8) {
      EXPECT_EQ(counts.wide_loads, entry.p_static * vector->chunks) << "loads of " << vector->bytes << " bytes";
    }
  }
}

// The warp max is one redux there, the warp sum a butterfly of five steps.
TEST(CudaMachineCode, Sm100aIsWhatTheContractSays) {
  audit("sm_100a", 5);
}
// Max and sum are butterflies.
TEST(CudaMachineCode, Sm90IsWhatTheContractSays) {
  audit("sm_90", 10);
}

}  // namespace
}  // namespace lsecheck::cuda
