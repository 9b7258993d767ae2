// A night over a kernel that fails, in the place of a registered one: what it writes leads back to each failure.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/shell_test_directory.h"
#include "fuzz/combine_case_input.h"
#include "kernels/registry.h"
#include "properties/case_expand.h"
#include "properties/case_file.h"
#include "properties/case_kernel.h"
#include "properties/temporary_directory.h"
#include "properties/test_broken_kernel.h"
#include "properties/whole_file.h"

namespace lsecheck::cli {
namespace {

using testing::HasSubstr;

constexpr KernelId kBroken = KernelId::mha_splitk_reduce;

struct Ended {
  int exit_code;
  std::string out;
};

Ended lsecheck(const std::string& arguments) {
  CLI::App app{"", "lsecheck"};
  add_repro_command(app);
  add_nightly_command(app);
  testing::internal::CaptureStdout();
  int code = kClean;
  try {
    app.parse(arguments);
  } catch (const ExitWith& end) {
    code = end.code;
  }
  return {code, testing::internal::GetCapturedStdout()};
}

// One input of the broken kernel, with 30 partitions and 3 rows of 3 heads (combine_case_input.h).
std::string corpus_input() {
  for (const auto& seed : fuzz::combine_case_seeds()) {
    if (fuzz::decode_combine_case(seed)->tensors.spec.kernel != kBroken) continue;
    std::string bytes(seed.begin(), seed.end());
    bytes[5] = 29;
    bytes[6] = bytes[7] = 2;
    return bytes;
  }
  throw std::logic_error("no seed is of this kernel");
}

// The first line to replay that holds `part`, without its first two words.
std::string replayed_file(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) return "nothing with " + part;
  const std::string before = "lsecheck repro ";
  const std::size_t begin = text.rfind(before, at) + before.size();
  return text.substr(begin, text.find_first_of("\n<", begin) - begin);
}

TEST(BrokenNight, EveryReportLeadsToEveryFailure) {
  const TemporaryDirectory folder;
  for (const char* name : {"corpus", "old"}) std::filesystem::create_directory(folder / name);
  write_file_atomically((folder / "corpus").string() + "/input", corpus_input());
  CaseSpec spec;
  spec.kernel = kBroken;
  spec.num_partitions = 5;
  save_case((folder / "old").string() + "/a.safetensors", {expand(spec), "accuracy", "", kGeneratorVersion});

  const BrokenKernel broken(*registered_kernel(kBroken), [](const CombineShape& shape) {
    if (shape.num_partitions > 1) throw std::runtime_error("planted");
  });
  const KernelInPlace in_place(broken);
  const std::string out = (folder / "night").string();
  const Ended night =
      lsecheck("nightly --cases 1 --seed 3 --law accuracy --hunt 1 --jobs 1 --kernel mha_splitk_reduce --corpus " +
               (folder / "corpus").string() + " --failures " + (folder / "old").string() + " --out " + out);
  EXPECT_EQ(night.exit_code, kFailed);

  std::string markdown = contents_of(out + "/report.md");
  std::erase(markdown, '\\');
  const std::map<std::string, std::string> reports{{"terminal", night.out},
                                                   {"markdown", markdown},
                                                   {"html", contents_of(out + "/report.html")},
                                                   {"junit", contents_of(out + "/junit.xml")}};
  const std::string corpus_case = out + "/failures/corpus-input.safetensors";
  for (const auto& [name, text] : reports) {
    SCOPED_TRACE(name);
    EXPECT_THAT(text, HasSubstr((folder / "corpus").string() + "/input"));
    EXPECT_EQ(replayed_file(text, "corpus-input.safetensors"), corpus_case);
    const std::string hunted = replayed_file(text, "/failures/hunt-");
    for (const std::string& file : {corpus_case, (folder / "old").string() + "/a.safetensors", hunted}) {
      EXPECT_THAT(text, HasSubstr("lsecheck repro " + file));
      const Ended again = lsecheck("repro " + file);
      EXPECT_EQ(again.exit_code, kFailed) << file;
      EXPECT_THAT(again.out, HasSubstr("planted"));
    }
  }
  const std::string json = contents_of(out + "/results.json");
  EXPECT_THAT(json,
              HasSubstr("\"kernel\":\"mha_splitk_reduce\",\"law\":\"accuracy\",\"outcome\":\"fails\",\"case_file\":\"" +
                        corpus_case + "\""));
  EXPECT_THAT(json, HasSubstr("\\nmade small: P=2 rows=1 heads=1 "));
  EXPECT_EQ(load_case(corpus_case, 1 << 28).tensors.spec.num_partitions, 2);
}

}  // namespace
}  // namespace lsecheck::cli
