#include "properties/case_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <new>

#include "properties/case_kernel.h"
#include "properties/run_case.h"

namespace lsecheck {
namespace {

constexpr std::string_view kFormat = "lsecheck-outputs 1";
constexpr std::string_view kFaultMark = "!";

// The text up to the next blank, which goes from the line with it.
std::string_view next_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

template <class Integer>
bool parse_whole(std::string_view text, Integer& value, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

// "key=value" with that key; the value, or nullopt.
std::optional<std::string> field(std::string_view word, std::string_view key) {
  if (!word.starts_with(key) || word.size() <= key.size() || word[key.size()] != '=') return std::nullopt;
  return std::string(word.substr(key.size() + 1));
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

CaseOutput output_of(const CaseTensors& tensors, std::uint64_t case_index, const std::string& token) {
  CaseOutput output{case_index, token, "-", {}, ""};
  try {
    output.variant = variant_of(tensors.spec).name;
    KernelRun run = run_kernel(tensors);
    if (run.fault) {
      output.fault = one_line(*run.fault);
    } else {
      output.out_bits = std::move(run.out_bits);
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    output.fault = one_line(error.what());
  }
  return output;
}

std::string format_header(const OutputsHeader& header) {
  return fmt::format("{} generator={} version={} commit={} kernels={}", kFormat, header.generator_version,
                     header.version, header.commit, header.kernels);
}

std::string format_output(const CaseOutput& output, DType type) {
  std::string line = fmt::format("{} {} {} ", output.case_index, output.token, output.variant);
  if (!output.fault.empty()) return line + fmt::format("{} {}", kFaultMark, output.fault);
  const int digits = 2 * static_cast<int>(size_of(type));
  line.reserve(line.size() + output.out_bits.size() * static_cast<std::size_t>(digits));
  for (const std::uint32_t bits : output.out_bits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) line += "0123456789abcdef"[bits >> shift & 15];
  }
  return line;
}

std::string format_end(std::uint64_t cases) {
  return fmt::format("end {}", cases);
}

std::optional<OutputsHeader> parse_header(std::string_view line) {
  if (!line.starts_with(kFormat) || line.size() == kFormat.size()) return std::nullopt;
  line.remove_prefix(kFormat.size() + 1);
  const auto generator = field(next_word(line), "generator");
  const auto version = field(next_word(line), "version");
  const auto commit = field(next_word(line), "commit");
  const auto kernels = field(line, "kernels");
  OutputsHeader header;
  if (!generator || !parse_whole(*generator, header.generator_version) || !version || !commit || !kernels) {
    return std::nullopt;
  }
  header.version = *version;
  header.commit = *commit;
  header.kernels = *kernels;
  return header;
}

std::optional<CaseOutput> parse_output(std::string_view line, DType type) {
  CaseOutput output;
  if (!parse_whole(next_word(line), output.case_index)) return std::nullopt;
  output.token = next_word(line);
  output.variant = next_word(line);
  if (line.starts_with(kFaultMark)) {
    next_word(line);
    output.fault = line;
    return output;
  }
  const std::size_t digits = 2 * size_of(type);
  if (line.empty() || line.size() % digits != 0) return std::nullopt;
  for (; !line.empty(); line.remove_prefix(digits)) {
    std::uint32_t bits = 0;
    if (!parse_whole(line.substr(0, digits), bits, 16)) return std::nullopt;
    output.out_bits.push_back(bits);
  }
  return output;
}

}  // namespace lsecheck
