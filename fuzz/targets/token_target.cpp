#include <fmt/format.h>

#include <variant>

#include "fuzz/targets/fuzz_target.h"
#include "properties/case_draw.h"
#include "properties/case_limits.h"
#include "properties/laws.h"
#include "properties/runner.h"
#include "properties/token.h"

namespace lsecheck::fuzz {
namespace {

// The first byte says what follows: even, the text itself; odd, a payload that gets its right checksum here, which no
// mutation would find.
FuzzOutcome run(FuzzInput input) {
  if (input.empty()) return FuzzOutcome::reject();
  const FuzzInput rest = input.subspan(1);
  const std::string text = input[0] % 2 == 0 ? std::string(rest.begin(), rest.end()) : seal_token(rest);
  const ParsedToken parsed = parse_token(text);
  if (const auto* malformed = std::get_if<MalformedToken>(&parsed)) {
    const std::string& line = malformed->message;
    if (line.empty() || line.find('\n') != std::string::npos) return FuzzOutcome::fail("a refusal is no clear line");
  }
  const auto* token = std::get_if<Token>(&parsed);
  if (token == nullptr) return {};
  if (const auto error = spec_error(token->spec)) return FuzzOutcome::fail("a token parsed to a bad spec: " + *error);
  if (format_token(*token) != text) return FuzzOutcome::fail(fmt::format("{} has another spelling", text));
  if (describe_spec(token->spec).empty()) return FuzzOutcome::fail("a spec cannot be described");
  return {};
}

std::vector<std::vector<std::uint8_t>> seeds() {
  std::vector<std::vector<std::uint8_t>> all;
  for (std::uint64_t i = 0; i < 16; ++i) {
    const std::string text = format_token({static_cast<std::uint8_t>(i), draw_spec(1, i, {})});
    std::vector<std::uint8_t>& seed = all.emplace_back(1, std::uint8_t{0});
    seed.insert(seed.end(), text.begin(), text.end());
  }
  // The payload of a token of this generator version: P = 2, one row-head, depth 64, seed 0.
  std::vector<std::uint8_t> payload{1, kGeneratorVersion, 0, 0, 0x00, 0x10, 0x00, 0x00, 0x01, 0x00, 0x00, 2, 1, 1, 64};
  payload.resize(payload.size() + 8, 0);
  all.push_back(std::move(payload));
  return all;
}

}  // namespace

const FuzzTarget kTokenTarget{"token", "the token parser, with texts and with payloads of a right checksum", run,
                              nullptr, seeds};

}  // namespace lsecheck::fuzz
