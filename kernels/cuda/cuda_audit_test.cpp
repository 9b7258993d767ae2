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
#include "kernels/cuda/fa4_entry.h"
#include "kernels/cuda/fa4_ws_entry.h"
#include "kernels/cuda/mha_entry.h"
#include "kernels/cuda/mla_entry.h"

// What nvcc made of the kernels, inspected: the resource reports of ptxas and the PTX, kept by the build, and the
// machine code in this very program, where a disassembler is found. Nothing here needs a GPU.
namespace lsecheck::cuda {
namespace {

// What the code of one kernel must look like.
struct Contract {
  int ex2 = 0;  // special-function instructions and divisions
  int lg2 = 0;
  int divisions = 0;
  int reciprocals = 0;                  // rcp.approx
  int tensor_loads = 0;                 // tcgen05.ld, on the chips that have tensor memory
  bool waits = true;                    // for the kernel before it
  int warp_reductions = 1;              // a maximum and a sum over the whole warp
  int group_butterflies = 0;            // further butterfly steps, over parts of a warp
  bool is_loop = false;                 // over partitions: the compiler unrolls as it likes, counts are at least these
  bool may_use_local = false;           // a slot index that is not known at compile time
  int load_bytes = 0;                   // of one access to the partials
  int loads = 0;                        // of that size
  std::optional<int> fused_multiplies;  // fma: those of the contract, and none that the compiler made
};

constexpr int kSlotWidth = 32;

Contract contract_of(const sm100::Fa4Entry& entry) {
  Contract contract;
  // Two exponentials per slot: the sum's and the weight's.
  contract.ex2 = 2 * (((entry.p_static > 0 ? entry.p_static : 160) + kSlotWidth - 1) / kSlotWidth);
  contract.lg2 = 1;
  contract.may_use_local = entry.p_static == 0;
  const bool vectors = entry.ov_depth % 64 == 0 && (entry.ov_depth & (entry.ov_depth - 1)) == 0;
  if (entry.p_static == 0 || !vectors) return contract;
  const int element = static_cast<int>(size_of(entry.partial));
  contract.load_bytes = std::min(entry.ov_depth / 32 * element, 16);
  contract.loads = entry.p_static * (entry.ov_depth * element / (32 * contract.load_bytes));
  contract.fused_multiplies = entry.p_static * entry.ov_depth / 32;
  return contract;
}

// O goes to shared memory by asynchronous copies; the weights are written out for every row of a warp and, where a warp
// has several rows, for all of them at once besides.
Contract contract_of(const sm100::Fa4FastEntry& entry) {
  const int lanes_per_row = entry.ov_depth * static_cast<int>(size_of(entry.partial)) / entry.load_bytes;
  const int rows = std::max(32 / lanes_per_row, 1);
  const int slots = 160 / kSlotWidth;
  const bool grouped = rows > 1;
  Contract contract;
  contract.is_loop = true;
  contract.ex2 = rows * 2 * slots + (grouped ? 2 : 0);
  contract.lg2 = rows + (grouped ? 1 : 0);
  contract.warp_reductions = rows;
  for (int lanes = 32 / rows; grouped && lanes > 1; lanes /= 2) contract.group_butterflies += 2;
  return contract;
}

Contract contract_of(const sm100::MlaEntry& entry) {
  const int element = static_cast<int>(size_of(entry.type));
  const bool split_parallel = entry.warps_per_head == sm100::kSplitParallelInstance;
  const int per_lane = entry.head_dim / (32 * (split_parallel ? 1 : entry.warps_per_head));
  Contract contract;
  contract.load_bytes = std::min(per_lane * element, 16);
  const int loads_per_split = per_lane * element / contract.load_bytes;
  if (split_parallel) {
    contract.ex2 = 2 + 3 * 2 + 1;  // a split's, those of three merges, the sink's
    contract.divisions = 1;
    contract.warp_reductions = 0;
    contract.is_loop = true;
    contract.loads = loads_per_split;
    return contract;
  }
  contract.ex2 = 2 * ((entry.num_splits + kSlotWidth - 1) / kSlotWidth) + 1;  // and the sink's
  contract.lg2 = 2;
  contract.loads = entry.num_splits * loads_per_split;
  contract.fused_multiplies = entry.num_splits * per_lane;
  return contract;
}

// The fold is a loop over P.
Contract contract_of(const sm100::MhaEntry& entry) {
  int width = 1;
  while (width < (entry.ov_depth + kSlotWidth - 1) / kSlotWidth) width *= 2;
  const int bytes = width * static_cast<int>(size_of(entry.partial));
  Contract contract;
  contract.is_loop = true;
  contract.ex2 = 1;
  contract.divisions = 1;
  contract.waits = false;
  contract.load_bytes = std::min(bytes, 16);
  contract.loads = bytes / contract.load_bytes;
  return contract;
}

// One exponential per partition of a level; O through tensor memory 16 columns at a time, except into level 2 alone.
Contract contract_of(const sm100::Fa4WsEntry& entry) {
  using sm100::Fa4WsLevel;
  Contract contract;
  contract.is_loop = true;
  contract.waits = false;
  contract.warp_reductions = 0;
  const bool level1 = entry.level != Fa4WsLevel::level2;
  const bool meets_peer = entry.level == Fa4WsLevel::two_level || (!level1 && entry.num_partitions == 2);
  contract.ex2 = (level1 ? entry.m_pack : 0) + (meets_peer ? 2 : 0);
  contract.reciprocals = entry.level == Fa4WsLevel::level1 ? 0 : 1;
  contract.load_bytes = 16;
  contract.loads = 1;
  contract.tensor_loads = level1 ? entry.ov_depth / 16 : 0;
  return contract;
}

// By template_id.
const std::map<std::string, Contract>& contracts() {
  static const std::map<std::string, Contract> all = [] {
    std::map<std::string, Contract> result;
    for (const auto& entry : sm100::kFa4Entries) result[template_id(entry)] = contract_of(entry);
    for (const auto& entry : sm100::kFa4FastEntries) result[template_id(entry)] = contract_of(entry);
    for (const auto& entry : sm100::kMlaEntries) result[template_id(entry)] = contract_of(entry);
    for (const auto& entry : sm100::kMhaEntries) result[template_id(entry)] = contract_of(entry);
    for (const auto& entry : sm100::kFa4WsEntries) result[template_id(entry)] = contract_of(entry);
    return result;
  }();
  return all;
}

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

// Where there is no tensor memory, its stand-in is an array, whose columns the warpgroup chooses.
bool may_use_local(const Contract& contract, bool has_tensor_memory) {
  return contract.may_use_local || (contract.tensor_loads > 0 && !has_tensor_memory);
}

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
        if (may_use_local(contracts().at(name), arch != "sm_90")) continue;
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
  int contractible = 0, tensor_loads = 0;
  std::map<int, int> loads;  // from global memory, by size in bytes
  int waits = 0;
  bool touched_before_wait = false;
};

// One kernel against its contract. `butterflies`: the steps of a maximum and a sum.
void expect_contract(const Counts& counts, const Contract& contract, int butterflies, bool has_tensor_memory) {
  const auto expect_count = [&](const char* what, int got, int expected) {
    if (contract.is_loop) {
      EXPECT_GE(got, expected) << what;
    } else {
      EXPECT_EQ(got, expected) << what;
    }
  };
  expect_count("ex2.approx", counts.ex2, contract.ex2);
  EXPECT_EQ(counts.lg2, contract.lg2) << "lg2.approx";
  EXPECT_EQ(counts.butterflies, contract.warp_reductions * butterflies + contract.group_butterflies)
      << "butterfly steps";
  EXPECT_EQ(counts.waits, contract.waits ? 1 : 0) << "griddepcontrol.wait";
  EXPECT_FALSE(contract.waits && counts.touched_before_wait) << "global memory is read before griddepcontrol.wait";
  expect_count("tcgen05.ld", counts.tensor_loads, has_tensor_memory ? contract.tensor_loads : 0);
  EXPECT_TRUE(may_use_local(contract, has_tensor_memory) || counts.local == 0) << "local memory";
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

// --- PTX, of one chip ---

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

TEST(CudaPtx, IsWhatTheContractsSay) {
  if (compiled_kernels().empty()) GTEST_SKIP() << "this build has no CUDA kernels";
  if (!std::filesystem::exists(kReports)) GTEST_SKIP() << "the PTX is not on this machine: " << kReports;
  std::map<std::string, Counts> kernels;
  for (const auto& file : std::filesystem::directory_iterator(kReports)) {
    if (file.path().extension() != ".ptx") continue;
    std::ifstream lines(file.path());
    std::string line;
    Counts* counts = nullptr;
    constexpr std::string_view kEntry = ".entry ";
    while (std::getline(lines, line)) {
      if (const auto at = line.find(kEntry); at != std::string::npos) {
        const std::string name = table_name(line.substr(at + kEntry.size(), line.find('(') - at - kEntry.size()));
        counts = name.empty() ? nullptr : &kernels[name];
      } else if (counts != nullptr) {
        count_ptx(*counts, line);
      }
    }
  }
  EXPECT_EQ(kernels.size(), contracts().size());
  for (const auto& [name, counts] : kernels) {
    SCOPED_TRACE(name);
    const Contract& contract = contracts().at(name);
    // Max and sum are butterflies on this chip.
    expect_contract(counts, contract, 10, false);
    EXPECT_EQ(counts.divisions, contract.divisions);
    EXPECT_EQ(counts.reciprocals, contract.reciprocals) << "rcp.approx.ftz";
    EXPECT_EQ(counts.calls, 0) << "a library function stands where an instruction should";
    EXPECT_EQ(counts.contractible, 0) << "operations without .rn may be fused later on";
    EXPECT_EQ(counts.fused, contract.fused_multiplies.value_or(counts.fused)) << "fma";
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

void audit(const std::string& arch, int butterflies) {
  const std::string tool = disassembler();
  if (compiled_kernels().empty()) GTEST_SKIP() << "this build has no CUDA kernels";
  if (tool.empty()) GTEST_SKIP() << "no cuobjdump beside nvcc or on PATH: the machine code is not inspected";
  const auto code = machine_code(tool, arch);
  ASSERT_EQ(code.size(), contracts().size()) << "kernels found by " << tool << " for " << arch;
  for (const auto& [name, counts] : code) {
    SCOPED_TRACE(arch + " " + name);
    const Contract& contract = contracts().at(name);
    expect_contract(counts, contract, butterflies, arch != "sm_90");
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
