#include "properties/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

namespace lsecheck {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Safetensors : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::path(::testing::TempDir()) / (std::string("lsecheck_") + test->test_suite_name() + "_" +
                                                   test->name() + "_" + std::to_string(::getpid()));
    fs::create_directory(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::size_t num_files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  // A file of this header and so many data bytes, padded like the format demands unless the length is given.
  std::string raw(const std::string& header, std::size_t data_bytes) const {
    const std::uint64_t length = header.size();
    std::ofstream out(path("raw"), std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out << header << std::string(data_bytes, '\1');
    return path("raw");
  }

  static std::string refusal(const std::string& file, std::uint64_t max_bytes = 1 << 20) {
    try {
      read_safetensors(file, max_bytes);
    } catch (const FileError& error) {
      EXPECT_EQ(error.kind(), FileErrorKind::unreadable) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(file));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    return "accepted";
  }

  fs::path directory_;
};

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

// Written by safetensors 0.8.0 (Python, NumPy 2.4.6):
//   save_file({
//       "lse_partial": np.array([[[0.5, -np.inf]], [[-1.25, 2.0]]], np.float32),
//       "o_partial": np.arange(12, dtype=np.float16).reshape(2, 1, 2, 3) / 8,
//       "step": np.array([7], np.int64),
//   }, "numpy_small.safetensors", metadata={"source": "numpy", "note": "caf\u00e9"})
TEST_F(Safetensors, ReadsAFileWrittenByNumPy) {
  const auto file =
      read_safetensors(LSECHECK_SOURCE_DIR "/properties/testdata/numpy_small.safetensors", std::uint64_t{1} << 20);
  EXPECT_EQ(file.metadata().at("source"), "numpy");
  EXPECT_EQ(file.metadata().at("note"), "caf\u00e9");
  const auto& lse = file.float_tensor("lse_partial");
  EXPECT_EQ(lse.dtype, DType::f32);
  EXPECT_THAT(lse.shape, ElementsAre(2, 1, 2));
  EXPECT_EQ(lse.bits(1), 0xff800000u);
  EXPECT_EQ(lse.bits(2), 0xbfa00000u);
  const auto& o = file.float_tensor("o_partial");
  EXPECT_EQ(o.dtype, DType::f16);
  EXPECT_THAT(o.shape, ElementsAre(2, 1, 2, 3));
  EXPECT_EQ(o.num_elements(), 12u);
  EXPECT_EQ(o.bits(0), 0u);
  EXPECT_EQ(o.bits(8), 0x3c00u);  // 8 / 8
  ASSERT_NE(file.find("step"), nullptr);
  EXPECT_EQ(file.find("step")->dtype_name, "I64");
  try {
    file.float_tensor("step");
    FAIL() << "an integer tensor passed for floats";
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("`step` has dtype I64"));
  }
  EXPECT_THROW(file.float_tensor("out"), FileError);
}

TEST_F(Safetensors, RoundTripKeepsEveryBit) {
  const std::vector<std::uint32_t> words{0x7fc12345u, 0xff800000u, 0x80000000u, 0x7f800001u, 1u, 0x3f800000u};
  const std::vector<std::uint16_t> halves{0x7e01, 0xfc00, 0x8000};
  const std::vector<SafetensorsEntry> entries{{"b", DType::bf16, {3}, bytes_of(halves)},
                                              {"a", DType::f32, {2, 3}, bytes_of(words)},
                                              {"none", DType::f16, {0, 5}, {}},
                                              {"scalar", DType::f16, {}, bytes_of(halves).first(2)}};
  write_safetensors(path("x"), entries, {{"k", "v \"\u00e9\n"}});
  const auto file = read_safetensors(path("x"), 1 << 20);
  EXPECT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(file.metadata().at("k"), "v \"\u00e9\n");
  for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(file.float_tensor("a").bits(i), words[i]);
  for (std::size_t i = 0; i < halves.size(); ++i) EXPECT_EQ(file.float_tensor("b").bits(i), halves[i]);
  EXPECT_EQ(file.find("none")->num_elements(), 0u);
  EXPECT_EQ(file.float_tensor("scalar").bits(0), halves[0]);
  EXPECT_EQ(num_files(), 1u);
  // The data begin 8-byte aligned.
  std::ifstream in(path("x"), std::ios::binary);
  std::uint64_t length = 0;
  in.read(reinterpret_cast<char*>(&length), sizeof length);
  EXPECT_EQ(length % 8, 0u);
  // Written again: the same bytes, the old file replaced.
  write_safetensors(path("x"), entries, {{"k", "other"}});
  EXPECT_EQ(read_safetensors(path("x"), 1 << 20).metadata().at("k"), "other");
  EXPECT_EQ(num_files(), 1u);
}

TEST_F(Safetensors, RefusesWhatIsNotTheFormat) {
  const std::string a = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  struct Bad {
    std::string header;
    std::size_t data_bytes;
    const char* reason;
  };
  const auto tensor = [](const std::string& fields) { return "{\"a\":{" + fields + "}}"; };
  const std::vector<Bad> bad{
      {"", 0, "does not begin with `{`"},
      {"[]", 0, "does not begin with `{`"},
      {"\xef\xbb\xbf{}", 0, "does not begin with `{`"},
      {a, 8, "not JSON"},
      {a + "}x", 8, "not JSON"},
      {a + "}" + std::string("\0", 1), 8, "NUL"},
      {"{\"\xff\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "not JSON"},
      {std::string(100000, '{'), 0, "not JSON"},
      {a + R"(,"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", 16, "`a` appears twice"},
      {R"({"__metadata__":{"k":"1","k":"2"}})", 0, "`k` appears twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "`__metadata__` appears twice"},
      {R"({"__metadata__":{"k":1}})", 0, "`k` holds the number 1"},
      {R"({"__metadata__":{"k":{}}})", 0, "an object"},
      {R"({"a":3})", 0, "`a` holds the number 3, not a tensor"},
      {R"({"a":null})", 0, "`a` holds null"},
      {tensor(R"("dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8])"), 8, "`dtype` twice"},
      {tensor(R"("dtype":"F32","shape":[2])"), 8, "`a` has no data_offsets"},
      {tensor(R"("shape":[2],"data_offsets":[0,8])"), 8, "`a` has no dtype"},
      {tensor(R"("dtype":"F32","data_offsets":[0,8])"), 8, "`a` has no shape"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"strides":[1])"), 8, "unknown field `strides`"},
      {tensor(R"("dtype":"F33","shape":[2],"data_offsets":[0,8])"), 8, "unknown dtype `F33`"},
      {tensor(R"("dtype":"F33\n","shape":[2],"data_offsets":[0,8])"), 8, "unknown dtype `F33?`"},
      {tensor(R"("dtype":32,"shape":[2],"data_offsets":[0,8])"), 8, "`a` has the number 32 for its `dtype`"},
      {tensor(R"("dtype":"F32","shape":"2","data_offsets":[0,8])"), 8, "`a` has a string for its `shape`"},
      {tensor(R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])"), 8, "an array in its shape"},
      {tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), 8, "the negative number -2 in its shape"},
      {tensor(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), 8, "2.0, which is no integer"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[-0.5,8])"), 8, "in its data_offsets"},
      {tensor(R"("dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,8])"), 8, "no integer of 64 bits"},
      {tensor(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8])"), 8, "overflows"},
      {tensor(R"("dtype":"F32","shape":[9223372036854775807],"data_offsets":[0,8])"), 8, "overflows"},
      {tensor(R"("dtype":"F4","shape":[3],"data_offsets":[0,1])"), 1, "whole bytes"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), 8, "two numbers"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,9])"), 8, "more than two numbers"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), 8, "`a`: data_offsets [8, 0] end before"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,9])"), 8, "reach past the 8 data bytes"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615])"), 8, "reach past"},
      {tensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), 8, "hold 8 bytes, F32 [3] needs 12"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), 9, "1 bytes after the last tensor"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])"), 12, "bytes 0 to 4 belong to no tensor"},
      {a + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, "`b` begins at 4, inside another"},
      {a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})", 16, "`b` begins at 12: bytes 8 to 12"},
      {a + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8, "inside another"},
  };
  for (const auto& [header, data_bytes, reason] : bad) {
    EXPECT_THAT(refusal(raw(header, data_bytes)), HasSubstr(reason)) << header.substr(0, 200);
  }
  std::string rank = "1";
  for (int i = 0; i < 64; ++i) rank += ",1";
  EXPECT_THAT(refusal(raw(tensor(R"("dtype":"F32","shape":[)" + rank + R"(],"data_offsets":[0,4])"), 4)),
              HasSubstr("more than 64 dimensions"));
}

TEST_F(Safetensors, RefusesFalseLengths) {
  std::ofstream(path("short")) << "abc";
  EXPECT_THAT(refusal(path("short")), HasSubstr("3 bytes"));
  const auto with_length = [&](std::uint64_t length) {
    std::ofstream out(path("length"), std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out << "{}";
    out.close();
    return refusal(path("length"));
  };
  EXPECT_EQ(with_length(2), "accepted");
  EXPECT_THAT(with_length(3), HasSubstr("should take 3 bytes, only 2 follow"));
  EXPECT_THAT(with_length(~std::uint64_t{0}), HasSubstr("more than 100000000"));
  EXPECT_THAT(with_length(100'000'001), HasSubstr("more than 100000000"));
}

TEST_F(Safetensors, RefusesWhatCannotBeReadAndWhatIsTooLarge) {
  EXPECT_THAT(refusal(path("missing")), HasSubstr("cannot open: No such file"));
  EXPECT_THAT(refusal(directory_.string()), HasSubstr("not a regular file"));
  const std::string file = raw("{}", 0);
  EXPECT_EQ(refusal(file, 10), "accepted");
  EXPECT_THAT(refusal(file, 9), HasSubstr("10 bytes are more than the memory limit of 9 bytes; raise --memory"));
  // A file far larger than memory: refused by its size, before anything is allocated.
  std::ofstream(path("huge")) << "";
  std::error_code failed;
  fs::resize_file(path("huge"), std::uintmax_t{1} << 42, failed);
  if (!failed) {
    EXPECT_THAT(refusal(path("huge")), HasSubstr("raise --memory"));
  }
}

void expect_environment_failure(const std::string& file) {
  const std::vector<float> values(4096, 1.0f);
  const std::vector<SafetensorsEntry> entries{{"a", DType::f32, {4096}, bytes_of(values)}};
  try {
    write_safetensors(file, entries, {});
    FAIL() << "wrote " << file;
  } catch (const FileError& error) {
    EXPECT_EQ(error.kind(), FileErrorKind::environment);
    EXPECT_EQ(error.exit_code(), 4);
    EXPECT_THAT(error.what(), HasSubstr(file));
  }
}

TEST_F(Safetensors, AFailingWriteNamesTheFileAndLeavesNothing) {
  expect_environment_failure(path("no/such/directory/x"));
  fs::create_directory(path("taken"));
  expect_environment_failure(path("taken"));
  EXPECT_EQ(num_files(), 1u);

  // The disk gives out half-way: the old file stays, the new one vanishes.
  std::ofstream(path("old")) << "old";
  const auto previous_handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_environment_failure(path("old"));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous_handler);
  EXPECT_EQ(num_files(), 2u);
  std::string content;
  std::ifstream(path("old")) >> content;
  EXPECT_EQ(content, "old");
}

TEST_F(Safetensors, RefusesToWriteWhatIsNoFile) {
  const std::vector<float> values(4, 1.0f);
  const auto write = [&](const std::vector<SafetensorsEntry>& entries,
                         const std::map<std::string, std::string>& metadata = {}) {
    write_safetensors(path("x"), entries, metadata);
  };
  EXPECT_THROW(write({{"a", DType::f32, {3}, bytes_of(values)}}), std::invalid_argument);
  EXPECT_THROW(write({{"a", DType::f32, {4}, bytes_of(values).first(15)}}), std::invalid_argument);
  EXPECT_THROW(write({{"__metadata__", DType::f32, {4}, bytes_of(values)}}), std::invalid_argument);
  EXPECT_THROW(write({{"a", DType::f32, {4}, bytes_of(values)}, {"a", DType::f32, {4}, bytes_of(values)}}),
               std::invalid_argument);
  EXPECT_THROW(write({{"\xff", DType::f32, {4}, bytes_of(values)}}), std::invalid_argument);
  EXPECT_THROW(write({}, {{"k", "\xff"}}), std::invalid_argument);
  EXPECT_EQ(num_files(), 0u);
}

}  // namespace
}  // namespace lsecheck
