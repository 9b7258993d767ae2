#include "properties/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <boost/crc.hpp>
#include <string>
#include <vector>

#include "kernels/sm100/fa4_instantiation_table.h"
#include "properties/base32.h"
#include "properties/case_draw.h"
#include "properties/case_limits.h"

namespace lsecheck {
namespace {

using ::testing::HasSubstr;

std::string complaint(std::string_view text) {
  const ParsedToken parsed = parse_token(text);
  if (const auto* malformed = std::get_if<MalformedToken>(&parsed)) return malformed->message;
  return "accepted";
}

CaseSpec any_valid_spec() {
  CaseSpec spec;
  if (*rc::gen::inRange(0, 2) == 1) {
    // Among the other kernels' cases few shapes are valid; the drawn ones are.
    spec = draw_spec(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange<std::uint64_t>(0, 1000),
                     {.kernels = kernels_matching("m*")});
    spec.unit = {static_cast<sfu::UnitKind>(*rc::gen::inRange(0, 2)), *rc::gen::arbitrary<std::uint64_t>()};
    return spec;
  }
  spec.arch = *rc::gen::elementOf(kAllArchs);
  spec.selection = static_cast<Selection>(*rc::gen::inRange(0, 3));
  spec.num_partitions = *rc::gen::inRange<std::uint16_t>(1, 161);
  spec.ov_depth = static_cast<std::uint16_t>(*rc::gen::elementOf(sm100::kFa4Depths));
  const std::uint64_t row_limit = kMaxPartialElements / (std::uint64_t{spec.num_partitions} * spec.ov_depth);
  spec.heads =
      *rc::gen::inRange<std::uint16_t>(1, static_cast<std::uint16_t>(std::min<std::uint64_t>(row_limit, 65535)));
  spec.rows = *rc::gen::inRange<std::uint32_t>(1, static_cast<std::uint32_t>(row_limit / spec.heads) + 1);
  const auto types = *rc::gen::elementOf(kTypePairs);
  spec.out = types.out;
  spec.partial = types.partial;
  spec.lse = static_cast<LseRegime>(*rc::gen::inRange(0, kLseRegimeCount));
  spec.values = static_cast<ValueRegime>(*rc::gen::inRange(0, kValueRegimeCount));
  RC_PRE(!(spec.lse == LseRegime::policy && spec.values == ValueRegime::attention));
  spec.empties = static_cast<EmptyPattern>(*rc::gen::inRange(0, kEmptyPatternCount));
  spec.garbage = static_cast<Garbage>(*rc::gen::inRange(0, kGarbageCount));
  spec.unit.kind = static_cast<sfu::UnitKind>(*rc::gen::inRange(0, 2));
  spec.unit.seed = *rc::gen::arbitrary<std::uint64_t>();
  spec.schedule = static_cast<Schedule>(*rc::gen::inRange(0, 2));
  spec.seed = *rc::gen::arbitrary<std::uint64_t>();
  return spec;
}

// A token with any payload and the checksum that belongs to it.
std::string signed_token(std::vector<std::uint8_t> bytes) {
  boost::crc_32_type crc;
  crc.process_bytes("lse1", 4);
  crc.process_bytes(bytes.data(), bytes.size());
  for (int shift = 0; shift < 32; shift += 8)
    bytes.push_back(static_cast<std::uint8_t>(crc.checksum() >> shift & 0xff));
  return "lse1-" + base32_encode(bytes);
}

std::vector<std::uint8_t> payload_of(const std::string& token) {
  auto bytes = base32_decode(std::string_view(token).substr(5)).value();
  bytes.erase(bytes.end() - 4, bytes.end());
  return bytes;
}

RC_GTEST_PROP(TokenProperty, RoundTrip, ()) {
  const Token token{*rc::gen::arbitrary<std::uint8_t>(), any_valid_spec()};
  const std::string text = format_token(token);
  RC_ASSERT(text.size() < std::size_t{70});
  const ParsedToken parsed = parse_token(text);
  RC_ASSERT(std::holds_alternative<Token>(parsed));
  RC_ASSERT(std::get<Token>(parsed) == token);
}

RC_GTEST_PROP(TokenProperty, EverySingleCharacterChangeIsRefused, ()) {
  const std::string text = format_token({*rc::gen::arbitrary<std::uint8_t>(), any_valid_spec()});
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int c = 0; c < 256; ++c) {
      std::string mutated = text;
      mutated[i] = static_cast<char>(c);
      if (mutated != text) RC_ASSERT(std::holds_alternative<MalformedToken>(parse_token(mutated)));
    }
  }
}

RC_GTEST_PROP(TokenProperty, SwapsCutsAndRepeatsAreRefused, ()) {
  const std::string text = format_token({1, any_valid_spec()});
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string swapped = text;
    if (i + 1 < text.size()) std::swap(swapped[i], swapped[i + 1]);
    if (swapped != text) RC_ASSERT(std::holds_alternative<MalformedToken>(parse_token(swapped)));
    std::string dropped = text;
    dropped.erase(i, 1);
    RC_ASSERT(std::holds_alternative<MalformedToken>(parse_token(dropped)));
    RC_ASSERT(std::holds_alternative<MalformedToken>(parse_token(text.substr(0, i))));
    RC_ASSERT(std::holds_alternative<MalformedToken>(parse_token(text + text[i])));
  }
}

RC_GTEST_PROP(TokenProperty, AnyBytesAreHandled, (const std::string& text)) {
  RC_ASSERT(!std::holds_alternative<Token>(parse_token(text)));
  RC_ASSERT(!std::holds_alternative<Token>(parse_token("lse1-" + text)));
}

// Even a payload with the right checksum is not trusted, and nothing but the canonical token of a spec is accepted.
RC_GTEST_PROP(TokenProperty, SignedRandomPayloadsAreValidatedOrCanonical, ()) {
  std::vector<std::uint8_t> bytes = payload_of(format_token({2, any_valid_spec()}));
  const int edits = *rc::gen::inRange(1, 4);
  for (int i = 0; i < edits; ++i) {
    bytes[*rc::gen::inRange<std::size_t>(2, bytes.size())] = *rc::gen::arbitrary<std::uint8_t>();
  }
  const std::string text = signed_token(bytes);
  const ParsedToken parsed = parse_token(text);
  if (const auto* token = std::get_if<Token>(&parsed)) {
    RC_ASSERT(!spec_error(token->spec));
    RC_ASSERT(format_token(*token) == text);
  }
}

// The format is a promise to whoever kept a token: it does not change without a new schema or generator version.
TEST(Token, FormatIsPinned) {
  const CaseSpec spec{.kernel = KernelId::fa4_splitk_combine,
                      .arch = Arch::sm_103a,
                      .selection = Selection::runtime_p,
                      .num_partitions = 148,
                      .rows = 3,
                      .heads = 2,
                      .ov_depth = 512,
                      .out = DType::bf16,
                      .partial = DType::f32,
                      .lse = LseRegime::flushed_weights,
                      .values = ValueRegime::huge,
                      .empties = EmptyPattern::trailing,
                      .garbage = Garbage::stale_bits,
                      .unit = {},
                      .schedule = Schedule::random,
                      .seed = 0x0123456789abcdef};
  const std::vector<std::uint8_t> payload{3,    0,    7,    0,    0x21, 0x02, 0x64, 0x43, 0x00, 0x01, 0x94, 0x01,
                                          0x03, 0x02, 0x80, 0x04, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01};
  EXPECT_EQ(format_token({7, spec}), signed_token(payload));
  EXPECT_EQ(format_token({7, spec}), "lse1-amaaoabbajsegaabsqaqgauaatx43k4jm5csgaodmebrc");
}

TEST(Token, OtherGeneratorVersionIsNamedWhateverFollows) {
  for (const int version : {0, 1, 2, 4, 65535}) {
    for (const std::size_t size : {std::size_t{2}, std::size_t{3}, std::size_t{27}}) {
      std::vector<std::uint8_t> bytes(size, 0xaa);
      bytes[0] = static_cast<std::uint8_t>(version & 0xff);
      bytes[1] = static_cast<std::uint8_t>(version >> 8);
      const ParsedToken parsed = parse_token(signed_token(bytes));
      ASSERT_TRUE(std::holds_alternative<OtherGeneratorVersion>(parsed));
      EXPECT_EQ(std::get<OtherGeneratorVersion>(parsed).version, version);
    }
  }
}

TEST(Token, ComplaintsNameTheTrouble) {
  const std::string good = format_token({1, CaseSpec{}});
  EXPECT_EQ(complaint(good), "accepted");
  EXPECT_EQ(complaint(""), "token: it must begin with lse1-; copy the whole word of the repro line");
  EXPECT_EQ(complaint("lse2-aaaa"), "token: it must begin with lse1-; copy the whole word of the repro line");
  EXPECT_EQ(complaint("lse1-"), "token: too short; copy the whole word");
  EXPECT_EQ(complaint("lse1-aa0a"), "token: character 8 is '0'; only a-z and 2-7 follow lse1-");
  EXPECT_EQ(complaint("lse1-a\n"), "token: character 7 is byte 0x0a; only a-z and 2-7 follow lse1-");
  EXPECT_EQ(complaint("lse1-" + std::string(200, 'a')), "token: too long; two tokens may have run together");
  std::string typo = good;
  typo[10] = typo[10] == 'a' ? 'b' : 'a';
  EXPECT_EQ(complaint(typo), "token: checksum mismatch; a character is wrong or missing, copy the token again");

  const std::vector<std::uint8_t> payload = payload_of(good);
  const auto with = [&](std::size_t at, std::uint8_t value) {
    std::vector<std::uint8_t> bytes = payload;
    bytes[at] = value;
    return complaint(signed_token(bytes));
  };
  EXPECT_EQ(with(3, 0x90), "token: kernel is not one of its named values");
  EXPECT_EQ(with(3, 0x80),
            "token: its kernel is a plugin, and none is loaded; `run` and `repro` load one with --plugin FILE");
  EXPECT_EQ(with(3, 0x30), "token: partial type bf16 does not go with out type bf16; use f32");
  EXPECT_EQ(with(3, 0x03), "token: sink is not one of its named values");
  EXPECT_EQ(with(3, 0x01), "token: sink finite does not go with kernel fa4_splitk_combine, which takes none");
  EXPECT_EQ(with(4, 0x30), "token: arch is not one of its named values");
  EXPECT_EQ(with(5, 0x01), "token: partial type f16 does not go with out type bf16; use bf16 or f32");
  EXPECT_EQ(with(6, 0x90), "token: lse is not one of its named values");
  EXPECT_EQ(with(6, 0x87), "token: values attention determines the LSEs, so it does not go with lse policy");
  EXPECT_EQ(with(8, 0x30), "token: exponent is not one of its named values");
  EXPECT_EQ(with(8, 0x05), "token: mass is not one of its named values");
  EXPECT_EQ(with(8, 0x10), "token: exponent natural does not go with kernel fa4_splitk_combine, which reads log2");
  EXPECT_EQ(with(8, 0x02), "token: mass counts does not go with kernel fa4_splitk_combine, which takes none");
  EXPECT_EQ(with(9, 0x20), "token: unit is not one of its named values");
  EXPECT_EQ(with(10, 0), "token: num_partitions 0 is outside 1..160");
  EXPECT_EQ(with(11, 0), "token: rows is 0; it must be at least 1");
  std::vector<std::uint8_t> longer = payload;
  longer.push_back(0);
  EXPECT_THAT(complaint(signed_token(longer)), HasSubstr("its fields do not fill it"));
}

TEST(Token, SpecsThatCannotRunHaveNoToken) {
  CaseSpec spec;
  spec.num_partitions = 161;
  EXPECT_THROW(format_token({0, spec}), std::invalid_argument);
}

TEST(Token, TheMeasuredUnitHasNoSeed) {
  CaseSpec spec, seeded;
  seeded.unit.seed = 5;
  EXPECT_EQ(spec, seeded);
  EXPECT_EQ(format_token({0, spec}), format_token({0, seeded}));
  spec.unit.kind = seeded.unit.kind = sfu::UnitKind::spec;
  EXPECT_FALSE(spec == seeded);
  EXPECT_NE(format_token({0, spec}), format_token({0, seeded}));
}

}  // namespace
}  // namespace lsecheck
