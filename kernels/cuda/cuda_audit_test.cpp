#include <cxxabi.h>
#include <fmt/format.h>
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
#include "kernels/cuda/test_code_contract.h"

// What nvcc made of the kernels, inspected: the resource reports of ptxas and the PTX, kept by the build, and the
// machine code in this very program, where a disassembler is found. Nothing here needs a GPU.
namespace lsecheck::cuda {
namespace {

// The template_id of a kernel of the tables from its mangled name; empty for other functions.
std::string table_name(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return "";
  std::string name = std::regex_replace(text.get(), std::regex("lsecheck::(sm100::)?"), "");
  name = std::regex_replace(name.substr(0, name.find('(')), std::regex("float"), "f32");
  name = std::regex_replace(name, std::regex("> >"), ">>");
  if (name.starts_with("void ")) name.erase(0, 5);
  return contracts().contains(name) ? name : "";
}

// Where the build kept what the compiler said; empty without nvcc.
#if defined(LSECHECK_CUDA_REPORTS)
constexpr const char* kReports = LSECHECK_CUDA_REPORTS;
#else
constexpr const char* kReports = "";
#endif

// --- the compiler's reports ---

TEST(CudaResources, NoKernelOfStaticCountsTouchesLocalMemory) {
  if (compiled_kernels().empty()) GTEST_SKIP() << "this build has no CUDA kernels";
  if (!std::filesystem::exists(kReports))
    GTEST_SKIP() << "the compiler's reports are not on this machine: " << kReports;
  static const std::regex kFunction(R"(Compiling entry function '(\S+)' for '(sm_\w+)')");
  static const std::regex kMemory(R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads)");
  std::map<std::string, std::size_t> kernels_of_arch;
  for (const auto& file : std::filesystem::directory_iterator(kReports)) {
    if (file.path().extension() != ".log") continue;
    std::ifstream lines(file.path());
    std::string line, arch, name;
    while (std::getline(lines, line)) {
      std::smatch match;
      if (std::regex_search(line, match, kFunction)) {
        name = table_name(match[1]);
        arch = match[2];
      } else if (!name.empty() && std::regex_search(line, match, kMemory)) {
        ++kernels_of_arch[arch];
        if (contracts().at(name).may_use_local) continue;
        EXPECT_TRUE(match[1] == "0" && match[2] == "0" && match[3] == "0") << arch << " " << name << ":" << line;
      }
    }
  }
  EXPECT_GE(kernels_of_arch.size(), 2U);
  for (const auto& [arch, kernels] : kernels_of_arch) EXPECT_EQ(kernels, contracts().size()) << arch;
}

// --- code ---

struct Counts {
  int ex2 = 0, lg2 = 0, divisions = 0, reciprocals = 0, calls = 0, local = 0, butterflies = 0, fused = 0;
  int contractible = 0, tensor_loads = 0, tensor_stores = 0;
  FlushingCounts flushing;
  std::map<int, int> loads;  // from global memory, by size in bytes
  int waits = 0;
  bool touched_before_wait = false;
};

struct Chip {
  std::string arch;
  int butterflies;  // the steps of a maximum and a sum over a warp
  bool has_tensor_memory;
};
Chip chip_named(const std::string& arch) {
  // The warp's maximum is one redux on sm_100a alone.
  return {arch, arch == "sm_100a" ? 5 : 10, arch != "sm_90"};
}

// One kernel against its contract.
void expect_contract(const Counts& counts, const Contract& contract, const Chip& chip) {
  const auto expect_count = [&](const char* what, int got, int expected) {
    if (contract.is_loop) {
      EXPECT_GE(got, expected) << what;
    } else {
      EXPECT_EQ(got, expected) << what;
    }
  };
  EXPECT_GE(counts.ex2, contract.ex2) << "ex2.approx";
  EXPECT_TRUE(contract.is_loop || counts.ex2 <= contract.copies_of_ex2 * contract.ex2)
      << counts.ex2 << " ex2.approx, of which the contract has " << contract.ex2;
  EXPECT_EQ(counts.lg2, contract.lg2) << "lg2.approx";
  EXPECT_EQ(counts.butterflies, contract.warp_reductions * chip.butterflies + contract.group_butterflies)
      << "butterfly steps";
  EXPECT_EQ(counts.waits, contract.waits ? 1 : 0) << "griddepcontrol.wait";
  EXPECT_FALSE(contract.waits && counts.touched_before_wait) << "global memory is read before griddepcontrol.wait";
  EXPECT_EQ(counts.tensor_loads, chip.has_tensor_memory ? contract.tensor_moves : 0) << "tcgen05.ld";
  EXPECT_EQ(counts.tensor_stores, chip.has_tensor_memory ? contract.tensor_moves : 0) << "tcgen05.st";
  EXPECT_TRUE(contract.may_use_local || counts.local == 0) << "local memory";
  // Narrower accesses look like those to the LSEs.
  if (contract.load_bytes >= 8) {
    const auto found = counts.loads.find(contract.load_bytes);
    expect_count("vector loads", found == counts.loads.end() ? 0 : found->second, contract.loads);
  }
}

// The first word that is no predicate.
std::string opcode_of(const std::string& line) {
  for (std::size_t begin = line.find_first_not_of(" \t"); begin != std::string::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    if (line[begin] != '@') return line.substr(begin, end - begin);
    begin = line.find_first_not_of(" \t", end);
  }
  return "";
}

// --- PTX ---

// Bytes of "ld.global.v4.u32".
int ptx_load_bytes(const std::string& opcode) {
  static const std::regex kForm(R"(ld\.global(?:\.nc)?(?:\.v(\d))?\.[a-z](\d+))");
  std::smatch match;
  if (!std::regex_search(opcode, match, kForm)) return 0;
  return (match[1].matched ? std::stoi(match[1]) : 1) * std::stoi(match[2]) / 8;
}

void count_ptx(Counts& counts, const std::string& line) {
  const std::string opcode = opcode_of(line);
  counts.ex2 += opcode == "ex2.approx.ftz.f32";
  counts.lg2 += opcode == "lg2.approx.f32";
  counts.divisions += opcode.starts_with("div.") && opcode.find(".f32") != std::string::npos;
  counts.reciprocals += opcode == "rcp.approx.ftz.f32";
  counts.tensor_loads += opcode.starts_with("tcgen05.ld.");
  counts.tensor_stores += opcode.starts_with("tcgen05.st.");
  counts.flushing.products += opcode == "mul.rn.ftz.f32";
  counts.flushing.fused += opcode == "fma.rn.ftz.f32";
  counts.flushing.maxima += opcode == "max.ftz.f32";
  counts.calls += opcode.starts_with("call");
  counts.local += opcode.starts_with(".local") || opcode.starts_with("ld.local") || opcode.starts_with("st.local");
  counts.butterflies += opcode.starts_with("shfl.sync.bfly");
  counts.waits += opcode.starts_with("griddepcontrol.wait");
  counts.fused += opcode.starts_with("fma.rn.f32");
  for (const char* open : {"add.f32", "sub.f32", "mul.f32", "add.ftz.f32", "sub.ftz.f32", "mul.ftz.f32"}) {
    counts.contractible += opcode == open;
  }
  if (opcode.starts_with("ld.global") || opcode.starts_with("st.global")) {
    counts.touched_before_wait = counts.touched_before_wait || counts.waits == 0;
  }
  if (opcode.starts_with("ld.global")) ++counts.loads[ptx_load_bytes(opcode)];
}

// The kernels of every PTX file, by chip and name.
std::map<std::string, std::map<std::string, Counts>> ptx_kernels() {
  std::map<std::string, std::map<std::string, Counts>> kernels;
  for (const auto& file : std::filesystem::directory_iterator(kReports)) {
    if (file.path().extension() != ".ptx") continue;
    std::ifstream lines(file.path());
    std::string line, arch;
    Counts* counts = nullptr;
    constexpr std::string_view kTarget = ".target ";
    constexpr std::string_view kEntry = ".entry ";
    while (std::getline(lines, line)) {
      if (line.starts_with(kTarget)) {
        arch = line.substr(kTarget.size());
      } else if (const auto at = line.find(kEntry); at != std::string::npos) {
        const std::string name = table_name(line.substr(at + kEntry.size(), line.find('(') - at - kEntry.size()));
        counts = name.empty() ? nullptr : &kernels[arch][name];
      } else if (counts != nullptr) {
        count_ptx(*counts, line);
      }
    }
  }
  return kernels;
}

TEST(CudaPtx, IsWhatTheContractsSay) {
  if (compiled_kernels().empty()) GTEST_SKIP() << "this build has no CUDA kernels";
  if (!std::filesystem::exists(kReports)) GTEST_SKIP() << "the PTX is not on this machine: " << kReports;
  const auto kernels = ptx_kernels();
  // One chip of everything, and one with tensor memory of what uses it.
  ASSERT_THAT(kernels, ::testing::ElementsAre(::testing::Key("sm_100a"), ::testing::Key("sm_90")));
  EXPECT_EQ(kernels.at("sm_90").size(), contracts().size());
  EXPECT_EQ(kernels.at("sm_100a").size(), sm100::kFa4WsEntries.size());
  for (const auto& [arch, of_arch] : kernels) {
    for (const auto& [name, counts] : of_arch) {
      SCOPED_TRACE(fmt::format("{} {}", arch, name));
      const Contract& contract = contracts().at(name);
      expect_contract(counts, contract, chip_named(arch));
      EXPECT_EQ(counts.divisions, contract.divisions);
      EXPECT_EQ(counts.reciprocals, contract.reciprocals) << "rcp.approx.ftz";
      EXPECT_EQ(counts.calls, 0) << "a library function stands where an instruction should";
      EXPECT_EQ(counts.contractible, 0) << "operations without .rn may be fused later on";
      EXPECT_EQ(counts.fused, contract.fused_multiplies.value_or(counts.fused)) << "fma";
      EXPECT_EQ(counts.flushing.products, contract.flushing.products) << "mul.rn.ftz";
      EXPECT_EQ(counts.flushing.fused, contract.flushing.fused) << "fma.rn.ftz";
      EXPECT_EQ(counts.flushing.maxima, contract.flushing.maxima) << "max.ftz";
    }
  }
}

// --- machine code ---

// cuobjdump where the build found it, else on PATH; empty: none.
std::string disassembler() {
#if defined(LSECHECK_CUOBJDUMP)
  if (access(LSECHECK_CUOBJDUMP, X_OK) == 0) return LSECHECK_CUOBJDUMP;
#endif
  return std::system("cuobjdump --version >/dev/null 2>&1") == 0 ? "cuobjdump" : "";
}

// "        /*0010*/    @P0 LDG.E.128 R4, desc[UR4][R2.64] ;    /* 0x... */" without address and encoding.
std::optional<std::string> instruction_in(const std::string& line) {
  const auto comment = line.find("/*");
  const auto text = line.find("*/", comment == std::string::npos ? 0 : comment);
  const auto end = line.find(" ;");
  if (comment == std::string::npos || text == std::string::npos || end == std::string::npos || end < text) {
    return std::nullopt;
  }
  const auto begin = line.find_first_not_of(" \t", text + 2);
  return line.substr(begin, end - begin);
}

void count_sass(Counts& counts, const std::string& instruction) {
  const std::string opcode = opcode_of(instruction);
  counts.ex2 += opcode.starts_with("MUFU.EX2");
  counts.lg2 += opcode.starts_with("MUFU.LG2");
  counts.divisions += opcode.starts_with("MUFU.RCP");
  counts.tensor_loads += opcode.starts_with("LDTM");
  counts.tensor_stores += opcode.starts_with("STTM");
  counts.flushing.products += opcode.starts_with("FMUL") && opcode.find(".FTZ") != std::string::npos;
  counts.flushing.fused += opcode.starts_with("FFMA") && opcode.find(".FTZ") != std::string::npos;
  counts.calls += opcode.starts_with("CALL");
  counts.local += opcode.starts_with("LDL") || opcode.starts_with("STL");
  counts.butterflies += opcode.starts_with("SHFL.BFLY");
  counts.waits += opcode.starts_with("ACQBULK");
  if (opcode.starts_with("LDG") || opcode.starts_with("STG")) {
    counts.touched_before_wait = counts.touched_before_wait || counts.waits == 0;
  }
  if (!opcode.starts_with("LDG")) return;
  const auto is_of = [&](const char* width) { return opcode.find(width) != std::string::npos; };
  ++counts.loads[is_of(".128") ? 16 : is_of(".64") ? 8 : 4];
}

// Every kernel of the tables for one arch.
std::map<std::string, Counts> machine_code(const std::string& tool, const std::string& arch) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "'" + tool + "' -sass -arch " + arch + " '" + program + "' 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::map<std::string, Counts> code;
  Counts* function = nullptr;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe.get()) != nullptr) {
    const std::string line(buffer.data());
    constexpr std::string_view kFunction = "Function : ";
    if (const auto at = line.find(kFunction); at != std::string::npos) {
      const std::string name =
          table_name(line.substr(at + kFunction.size(), line.find_last_not_of(" \n\r") + 1 - at - kFunction.size()));
      function = name.empty() ? nullptr : &code[name];
    } else if (const auto instruction = instruction_in(line); function != nullptr && instruction) {
      count_sass(*function, *instruction);
    }
  }
  return code;
}

void audit(const std::string& arch) {
  const std::string tool = disassembler();
  if (compiled_kernels().empty()) GTEST_SKIP() << "this build has no CUDA kernels";
  if (tool.empty()) GTEST_SKIP() << "no cuobjdump beside nvcc or on PATH: the machine code is not inspected";
  const auto code = machine_code(tool, arch);
  ASSERT_EQ(code.size(), contracts().size()) << "kernels found by " << tool << " for " << arch;
  for (const auto& [name, counts] : code) {
    SCOPED_TRACE(fmt::format("{} {}", arch, name));
    const Contract& contract = contracts().at(name);
    expect_contract(counts, contract, chip_named(arch));
    EXPECT_EQ(counts.flushing.products, contract.flushing.products) << "FMUL.FTZ";
    EXPECT_EQ(counts.flushing.fused, contract.flushing.fused) << "FFMA.FTZ";
    // A division of any operands is a reciprocal, corrections, and a call for the rare ones.
    if (contract.divisions == 0) {
      // Around tensor memory the toolchain puts calls of its own that check how it is allocated and used.
      EXPECT_TRUE(counts.calls == 0 || counts.tensor_loads > 0)
          << counts.calls << " calls: a library function stands where an instruction should";
      EXPECT_EQ(counts.divisions, contract.reciprocals) << "reciprocals where no division is";
    } else {
      EXPECT_GE(counts.divisions, contract.divisions) << "reciprocals";
      EXPECT_LE(counts.calls, contract.divisions) << "calls";
    }
  }
}

TEST(CudaMachineCode, Sm100aIsWhatTheContractSays) {
  audit("sm_100a");
}
TEST(CudaMachineCode, Sm90IsWhatTheContractSays) {
  audit("sm_90");
}

}  // namespace
}  // namespace lsecheck::cuda
