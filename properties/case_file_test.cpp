#include "properties/case_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "properties/safetensors.h"

namespace lsecheck {
namespace {

using ::testing::HasSubstr;

class CaseFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string path_ = ::testing::TempDir() + "lsecheck_case_" + std::to_string(::getpid()) + ".safetensors";
};

CaseFile example(DType partial) {
  CaseFile file;
  CaseSpec& spec = file.tensors.spec;
  spec.arch = Arch::sm_103a;
  spec.selection = Selection::over_bucketed;
  spec.num_partitions = 3;
  spec.rows = 2;
  spec.heads = 5;
  spec.ov_depth = 72;
  spec.out = DType::bf16;
  spec.partial = partial;
  spec.lse = LseRegime::policy;
  spec.values = ValueRegime::nonfinite;
  spec.empties = EmptyPattern::leading;
  spec.garbage = Garbage::inf;
  spec.unit = {sfu::UnitKind::spec, 0xfedcba9876543210u};
  spec.schedule = Schedule::random;
  spec.seed = ~std::uint64_t{0};
  file.law = "accuracy";
  file.token = "lse1-abc";
  // Bits of all sorts, NaNs with payloads (quiet and signalling) among them.
  std::uint32_t word = 0x7f800001u;
  for (int i = 0; i < 3 * 2 * 5; ++i) {
    file.tensors.lse_partial.push_back(std::bit_cast<float>(word));
    word = word * 1664525u + 1013904223u;
  }
  const std::uint32_t mask = partial == DType::f32 ? 0xffffffffu : 0xffffu;
  for (int i = 0; i < 3 * 2 * 5 * 72; ++i) {
    file.tensors.o_partial.push_back((i % 7 == 0 ? 0xff81u | word << 16 : word >> 3) & mask);
    word = word * 1664525u + 1013904223u;
  }
  return file;
}

TEST_F(CaseFileTest, RoundTripKeepsTheSpecAndEveryBit) {
  for (const DType partial : {DType::bf16, DType::f32}) {
    const CaseFile saved = example(partial);
    save_case(path_, saved);
    const CaseFile loaded = load_case(path_, 1 << 20);
    EXPECT_EQ(loaded.tensors.spec, saved.tensors.spec);
    EXPECT_EQ(loaded.tensors.spec.unit.seed, saved.tensors.spec.unit.seed);
    EXPECT_EQ(loaded.law, "accuracy");
    EXPECT_EQ(loaded.token, "lse1-abc");
    EXPECT_EQ(loaded.generator_version, kGeneratorVersion);
    EXPECT_EQ(loaded.tensors.o_partial, saved.tensors.o_partial);
    ASSERT_EQ(loaded.tensors.lse_partial.size(), saved.tensors.lse_partial.size());
    EXPECT_EQ(std::memcmp(loaded.tensors.lse_partial.data(), saved.tensors.lse_partial.data(),
                          4 * saved.tensors.lse_partial.size()),
              0);
  }
}

TEST_F(CaseFileTest, SpecialLsesAreRefusedOutsidePolicyCases) {
  CaseFile file = example(DType::f32);
  file.tensors.spec.lse = LseRegime::narrow;
  save_case(path_, file);
  try {
    load_case(path_, 1 << 20);
    FAIL() << "loaded";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("lse_regime is `narrow`; only `policy`"), std::string::npos)
        << error.what();
  }
}

TEST_F(CaseFileTest, RoundTripKeepsTheSink) {
  CaseFile saved;
  CaseSpec& spec = saved.tensors.spec;
  spec.kernel = KernelId::mla_combine;
  spec.ov_depth = 256;
  spec.heads = 3;
  saved.law = "accuracy";
  saved.tensors.lse_partial.assign(6, 1.0F);
  saved.tensors.o_partial.assign(6 * 256, 0x3f80);
  for (const auto kind : {SinkKind::none, SinkKind::finite, SinkKind::minus_infinity}) {
    spec.sink = kind;
    if (kind == SinkKind::finite) saved.tensors.attention_sink = {0.5F, -INFINITY, 3.0F};
    if (kind == SinkKind::minus_infinity) saved.tensors.attention_sink.assign(3, -INFINITY);
    save_case(path_, saved);
    const CaseFile loaded = load_case(path_, 1 << 20);
    EXPECT_EQ(loaded.tensors.spec, spec) << name_of(kind);
    EXPECT_EQ(loaded.tensors.attention_sink, saved.tensors.attention_sink);
  }
  saved.tensors.attention_sink[1] = NAN;
  save_case(path_, saved);
  EXPECT_THROW(load_case(path_, 1 << 20), FileError);
}

TEST_F(CaseFileTest, RoundTripKeepsMassesAndTheExponentForm) {
  CaseFile saved;
  CaseSpec& spec = saved.tensors.spec;
  spec.kernel = KernelId::mha_splitk_reduce;
  spec.ov_depth = 32;
  spec.exponent = ExponentForm::natural;
  spec.mass = MassRegime::tiny;
  saved.law = "accuracy";
  saved.tensors.lse_partial = {1.0F, 90.0F};
  saved.tensors.mass_partial = {0x1p-149F, 0.0F};
  saved.tensors.o_partial.assign(2 * 32, 0x3f80);
  save_case(path_, saved);
  const CaseFile loaded = load_case(path_, 1 << 20);
  EXPECT_EQ(loaded.tensors.spec, spec);
  EXPECT_EQ(loaded.tensors.mass_partial, saved.tensors.mass_partial);

  const auto complaint = [&] {
    save_case(path_, saved);
    try {
      load_case(path_, 1 << 20);
    } catch (const FileError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  saved.tensors.exponent_scale = 0.5F;
  EXPECT_THAT(complaint(), HasSubstr("`exponent_scale` is `0.5`, but exponent is `natural`"));
  saved.tensors.exponent_scale = 0;
  EXPECT_THAT(complaint(), HasSubstr("not a positive normal f32"));
  saved.tensors.exponent_scale = 1;
  saved.tensors.mass_partial[1] = -1;
  EXPECT_THAT(complaint(), HasSubstr("mass_partial holds a negative value"));
  saved.tensors.mass_partial[1] = NAN;
  EXPECT_THAT(complaint(), HasSubstr("only `policy` cases"));
  saved.tensors.mass_partial.clear();
  EXPECT_THAT(complaint(), HasSubstr("mass_partial"));
}

TEST_F(CaseFileTest, AFileOfAnotherGeneratorVersionReplays) {
  CaseFile saved = example(DType::bf16);
  saved.generator_version = kGeneratorVersion + 1;
  save_case(path_, saved);
  EXPECT_EQ(load_case(path_, 1 << 20).generator_version, kGeneratorVersion + 1);
}

TEST_F(CaseFileTest, TensorsOfAnotherSizeAreNotSaved) {
  CaseFile file = example(DType::f32);
  file.tensors.o_partial.pop_back();
  EXPECT_THROW(save_case(path_, file), std::invalid_argument);
}

TEST_F(CaseFileTest, MemoryLimitCoversTheTensors) {
  save_case(path_, example(DType::bf16));
  const auto file_bytes = std::filesystem::file_size(path_);
  try {
    load_case(path_, file_bytes + 100);
    FAIL() << "loaded";
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("raise --memory"));
  }
}

// Writes a good file with some fields replaced ("" removes one) and returns why it is refused.
class Refused : public CaseFileTest {
 protected:
  std::string with(const std::map<std::string, std::string>& changes,
                   std::vector<std::uint64_t> o_shape = {3, 2, 5, 72}, std::vector<std::uint64_t> lse_shape = {3, 2, 5},
                   DType lse_type = DType::f32) {
    const CaseFile good = example(DType::f32);
    save_case(path_, good);
    auto metadata = read_safetensors(path_, 1 << 20).metadata();
    for (const auto& [key, value] : changes) {
      metadata[key] = value;
      if (value.empty()) metadata.erase(key);
    }
    const auto sized = [](DType type, const std::vector<std::uint64_t>& shape) {
      std::size_t bytes = size_of(type);
      for (const auto extent : shape) bytes *= extent;
      return std::vector<std::byte>(bytes, std::byte{0x80});
    };
    const auto lse = sized(lse_type, lse_shape);
    const auto o = sized(DType::f32, o_shape);
    const SafetensorsEntry entries[] = {{"lse_partial", lse_type, lse_shape, lse},
                                        {"o_partial", DType::f32, o_shape, o}};
    write_safetensors(path_, entries, metadata);
    try {
      loaded_ = load_case(path_, 1 << 24);
    } catch (const FileError& error) {
      EXPECT_EQ(error.kind(), FileErrorKind::unreadable);
      return error.what();
    }
    return "accepted";
  }
  CaseFile loaded_;
};

TEST_F(Refused, Metadata) {
  EXPECT_EQ(with({}), "accepted");
  EXPECT_THAT(with({{"schema", "lsecheck.case/2"}}), HasSubstr("`lsecheck.case/2` is not `lsecheck.case/1`"));
  for (const char* key :
       {"schema", "generator_version", "kernel", "law", "token", "arch", "selection", "out", "unit", "unit_seed",
        "schedule", "seed", "lse_regime", "value_regime", "empties", "garbage", "exponent", "exponent_scale", "mass"}) {
    EXPECT_THAT(with({{key, ""}}), HasSubstr(std::string("metadata has no `") + key));
  }
  for (const char* key : {"kernel", "arch", "selection", "out", "unit", "schedule", "lse_regime", "value_regime",
                          "empties", "garbage", "exponent", "exponent_scale", "mass"}) {
    EXPECT_THAT(with({{key, "mine"}}), HasSubstr(std::string("metadata `") + key + "` is `mine`"));
  }
  for (const char* value : {"-1", "1.5", "0x1", " 1", "18446744073709551616", "x"}) {
    EXPECT_THAT(with({{"seed", value}}), HasSubstr("not a non-negative integer"));
    EXPECT_THAT(with({{"generator_version", value}}), HasSubstr("not a non-negative integer"));
  }
  EXPECT_THAT(with({{"out", "f16"}}), HasSubstr("accepted"));  // f16 from f32 partials is a kernel
}

TEST_F(Refused, UnknownRegimesOnlyOfThisVersion) {
  EXPECT_EQ(with({{"generator_version", "999"},
                  {"lse_regime", "new"},
                  {"value_regime", "new"},
                  {"empties", "new"},
                  {"garbage", "new"}}),
            "accepted");
  EXPECT_EQ(loaded_.tensors.spec.lse, LseRegime::narrow);
  EXPECT_EQ(loaded_.tensors.spec.values, ValueRegime::normal);
}

TEST_F(Refused, NotAFileFromBeforeThereWereMasses) {
  EXPECT_EQ(with({{"generator_version", "2"}, {"exponent", ""}, {"exponent_scale", ""}, {"mass", ""}}), "accepted");
  EXPECT_EQ(loaded_.tensors.spec.exponent, ExponentForm::log2);
}

TEST_F(Refused, Shapes) {
  EXPECT_THAT(with({}, {3, 2, 5, 73}), HasSubstr("ov_depth 73"));
  EXPECT_THAT(with({}, {3, 10, 72}), HasSubstr("[3, 10, 72], not [P, rows, heads, ov_depth]"));
  EXPECT_THAT(with({}, {3, 2, 5, 72}, {3, 5, 2}), HasSubstr("lse_partial has shape [3, 5, 2]"));
  EXPECT_THAT(with({}, {3, 2, 5, 72}, {3, 10}), HasSubstr("they must agree"));
  EXPECT_THAT(with({}, {161, 1, 1, 64}, {161, 1, 1}), HasSubstr("num_partitions 161"));
  EXPECT_THAT(with({}, {0, 1, 1, 64}, {0, 1, 1}), HasSubstr("num_partitions is 0"));
  EXPECT_THAT(with({}, {1, 0, 1, 64}, {1, 0, 1}), HasSubstr("rows is 0"));
  EXPECT_THAT(with({}, {0, 70000, 70000, 64}, {0, 70000, 70000}), HasSubstr("num_partitions is 0"));
  EXPECT_THAT(with({}, {1, 1, 70000, 1}, {1, 1, 70000}), HasSubstr("heads is 70000"));
  EXPECT_THAT(with({}, {3, 2, 5, 72}, {3, 2, 5}, DType::bf16), HasSubstr("lse_partial has dtype BF16"));
}

}  // namespace
}  // namespace lsecheck
