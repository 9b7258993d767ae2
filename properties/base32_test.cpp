#include "properties/base32.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

namespace lsecheck {
namespace {

std::vector<std::uint8_t> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

// The vectors of RFC 4648, section 10, in lower case and without padding.
TEST(Base32, RfcVectors) {
  const std::vector<std::pair<std::string_view, std::string_view>> vectors{{"", ""},
                                                                           {"f", "my"},
                                                                           {"fo", "mzxq"},
                                                                           {"foo", "mzxw6"},
                                                                           {"foob", "mzxw6yq"},
                                                                           {"fooba", "mzxw6ytb"},
                                                                           {"foobar", "mzxw6ytboi"}};
  for (const auto& [plain, encoded] : vectors) {
    EXPECT_EQ(base32_encode(bytes_of(plain)), encoded);
    EXPECT_EQ(base32_decode(encoded), bytes_of(plain));
  }
}

TEST(Base32, OnlyWhatEncodeWritesIsDecoded) {
  EXPECT_EQ(base32_decode("MY"), std::nullopt);
  EXPECT_EQ(base32_decode("m1"), std::nullopt);
  EXPECT_EQ(base32_decode("my======"), std::nullopt);
  EXPECT_EQ(base32_decode("mz"), std::nullopt);  // a set bit after the last byte
  EXPECT_EQ(base32_decode("m"), std::nullopt);   // no byte string has this length
  EXPECT_EQ(base32_decode("mzx"), std::nullopt);
}

RC_GTEST_PROP(Base32, RoundTrip, (const std::vector<std::uint8_t>& bytes)) {
  RC_ASSERT(base32_decode(base32_encode(bytes)) == bytes);
}

RC_GTEST_PROP(Base32, DecodingIsInjective, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string(kBase32Alphabet)));
  const auto bytes = base32_decode(text);
  if (bytes) RC_ASSERT(base32_encode(*bytes) == text);
}

}  // namespace
}  // namespace lsecheck
