#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>

#include "fuzz/worst_case.h"
#include "fuzz/worst_replay.h"
#include "properties/case_expand.h"
#include "properties/case_file.h"
#include "properties/case_limits.h"
#include "properties/philox.h"
#include "properties/token.h"
#include "properties/whole_file.h"
#include "reference/certified_reference.h"

// Everything that reads what others wrote, fed with valid input after a few random edits: it must answer, with a value
// that holds together or with its typed error. The quick form; the same edits every time.
namespace lsecheck {
namespace {

constexpr std::uint32_t kPurpose = 0x66757a7a;

// One to four edits: a changed, removed, doubled or inserted byte, or a cut.
std::string mutated(std::string text, PhiloxStream& random) {
  const std::uint64_t edits = 1 + random.below(4);
  for (std::uint64_t edit = 0; edit < edits && !text.empty(); ++edit) {
    const std::size_t at = random.below(text.size());
    switch (random.below(6)) {
      case 0:
        text[at] = static_cast<char>(random.next_u32());
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
        break;
      case 2:
        text.erase(at, 1 + random.below(8));
        break;
      case 3:
        text.insert(at, text.substr(at, 1 + random.below(16)));
        break;
      case 4:
        text.insert(at, 1, static_cast<char>('0' + random.below(10)));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

TEST(ParserMutation, TokensParseToTheirOnlySpellingOrNotAtAll) {
  PhiloxStream random(1, kPurpose, 0);
  CaseSpec spec;
  spec.seed = 77;
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    spec.num_partitions = static_cast<std::uint16_t>(1 + random.below(160));
    const std::string valid = format_token({static_cast<std::uint8_t>(random.below(18)), spec});
    const std::string text = mutated(valid, random);
    if (text == valid) continue;  // an edit that undid another
    const ParsedToken parsed = parse_token(text);
    const auto* token = std::get_if<Token>(&parsed);
    if (token == nullptr) continue;
    ++accepted;
    EXPECT_EQ(format_token(*token), text);
  }
  EXPECT_EQ(accepted, 0) << "the checksum lets one edit in 2^32 pass";
}

TEST(ParserMutation, CaseFilesLoadWholeOrNotAtAll) {
  PhiloxStream random(1, kPurpose, 1);
  CaseSpec spec;
  spec.num_partitions = 3;
  spec.ov_depth = 64;
  spec.rows = 2;
  const std::string path = ::testing::TempDir() + "parser_mutation.safetensors";
  save_case(path, {expand(spec), "accuracy", format_token({0, spec}), kGeneratorVersion});
  std::ifstream whole(path, std::ios::binary);
  const std::string valid{std::istreambuf_iterator<char>(whole), {}};
  const std::size_t header_end = valid.find("}}") == std::string::npos ? valid.size() / 4 : valid.rfind('}') + 1;
  int loaded = 0;
  for (int i = 0; i < 2'000; ++i) {
    // Most of the file is numbers, where any edit is fine; the edits go where the structure is.
    const std::string bytes = mutated(valid.substr(0, header_end), random) + valid.substr(header_end);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    try {
      const CaseFile file = load_case(path, 1 << 20);
      ++loaded;
      EXPECT_EQ(spec_error(file.tensors.spec), std::nullopt);
      EXPECT_EQ(file.tensors.lse_partial.size(), file.tensors.spec.num_partitions * file.tensors.spec.rows_heads());
      EXPECT_EQ(file.tensors.o_partial.size(), file.tensors.lse_partial.size() * file.tensors.spec.ov_depth);
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find("parser_mutation"), std::string::npos) << error.what();
    }
  }
  EXPECT_LT(loaded, 1'000) << "most edits of the header must be noticed";
  std::filesystem::remove(path);
}

TEST(ParserMutation, WorstCasesParseToWhatTheyPrintOrNotAtAll) {
  PhiloxStream random(1, kPurpose, 2);
  WorstCase worst;
  worst.target.kernel = KernelId::mha_splitk_reduce;
  worst.target.num_partitions = 3;
  worst.variant = "runtime";
  worst.ov_depth = 32;
  worst.value = 2.5;
  worst.lse = {0.5F, -3.25F, 1};
  worst.mass = {1, 2, 3.5F};
  worst.o = {0x3f800001, 0xbf000000, 0x40000003};
  const std::string valid = format_worst_case(worst);
  const auto reference = make_certified_reference();
  int accepted = 0;
  for (int i = 0; i < 10'000; ++i) {
    try {
      const WorstCase parsed = parse_worst_case(mutated(valid, random));
      const std::string printed = format_worst_case(parsed);
      EXPECT_EQ(format_worst_case(parse_worst_case(printed)), printed);
      // Whatever was accepted can be run, or said not to be launchable; no number makes the kernel leave its contract.
      if (++accepted % 16 != 0) continue;
      const auto replayed = replay(parsed, *reference);
      EXPECT_FALSE(replayed && replayed->failure) << printed;
    } catch (const std::invalid_argument& refusal) {
      EXPECT_STRNE(refusal.what(), "");
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace lsecheck
