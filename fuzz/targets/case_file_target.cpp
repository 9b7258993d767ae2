#include <fmt/format.h>

#include "fuzz/targets/fuzz_target.h"
#include "fuzz/targets/temporary_file.h"
#include "properties/case_draw.h"
#include "properties/case_expand.h"
#include "properties/case_file.h"
#include "properties/case_limits.h"
#include "properties/recorded_check.h"
#include "properties/token.h"
#include "reference/certified_reference.h"

namespace lsecheck::fuzz {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 22;

// What any file gives, a refusal included, is one line that begins with its name.
std::optional<std::string> bad_refusal(const FileError& error) {
  const std::string line = error.what();
  if (line.starts_with("input: ") && line.find('\n') == std::string::npos) return std::nullopt;
  return fmt::format("a refusal is no clear line: {}", line);
}

std::optional<std::string> case_fault(const SafetensorsFile& file) {
  try {
    const CaseFile loaded = read_case(file, kMaxBytes);
    const CaseTensors& tensors = loaded.tensors;
    if (const auto error = spec_error(tensors.spec)) return "a case file loaded with a bad spec: " + *error;
    const std::size_t pairs = tensors.spec.num_partitions * tensors.spec.rows_heads();
    if (tensors.lse_partial.size() != pairs || tensors.o_partial.size() != pairs * tensors.spec.ov_depth) {
      return "a case file loaded with tensors of other sizes than its spec";
    }
    return std::nullopt;
  } catch (const FileError& error) {
    return bad_refusal(error);
  }
}

// Any numbers somebody recorded are graded without a word but the verdict.
std::optional<std::string> recording_fault(const SafetensorsFile& file) {
  constexpr std::uint64_t kMostElements = 2048;
  try {
    const RecordedTensors tensors = recorded_tensors(file);
    if (tensors.num_partitions * tensors.rows_heads * tensors.depth > kMostElements) return std::nullopt;
    static const std::unique_ptr<Reference> reference = make_certified_reference();
    const CheckReport report = check_recorded(tensors, ErrorModel{}, *reference);
    if (report.failing_elements >
        report.graded_elements + report.graded_lse + report.all_empty_rows * (tensors.depth + 1)) {
      return "more elements fail than were looked at";
    }
    return std::nullopt;
  } catch (const FileError& error) {
    return bad_refusal(error);
  }
}

FuzzOutcome run(FuzzInput input) {
  std::vector<std::byte> bytes(input.size());
  std::copy(input.begin(), input.end(), reinterpret_cast<std::uint8_t*>(bytes.data()));
  try {
    const SafetensorsFile file("input", std::move(bytes));
    if (auto fault = case_fault(file)) return FuzzOutcome::fail(*fault);
    if (auto fault = recording_fault(file)) return FuzzOutcome::fail(*fault);
    return {};
  } catch (const FileError& error) {
    return {true, bad_refusal(error)};
  }
}

std::vector<std::uint8_t> saved(const TemporaryFile& file, const CaseFile& content) {
  save_case(file.path().string(), content);
  return file.read();
}

std::vector<std::uint8_t> recording(const TemporaryFile& file) {
  const std::vector<float> lse{0, -1, 2, -INFINITY};
  const std::vector<float> o{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> out{2.5F, 3.5F, 3, 4};
  const std::vector<float> out_lse{2.25F, -1};
  const std::vector<SafetensorsEntry> entries{{"lse_partial", DType::f32, {2, 2}, std::as_bytes(std::span(lse))},
                                              {"o_partial", DType::f32, {2, 2, 2}, std::as_bytes(std::span(o))},
                                              {"out", DType::f32, {2, 2}, std::as_bytes(std::span(out))},
                                              {"out_lse", DType::f32, {2}, std::as_bytes(std::span(out_lse))}};
  write_safetensors(file.path().string(), entries, {});
  return file.read();
}

std::vector<std::vector<std::uint8_t>> seeds() {
  const TemporaryFile file("case_seed");
  std::vector<std::vector<std::uint8_t>> all{recording(file)};
  for (std::uint8_t kernel = 0; kernel < kKernelCount; ++kernel) {
    DrawLimits limits;
    limits.kernels = {static_cast<KernelId>(kernel)};
    CaseSpec smallest = draw_spec(1, 0, limits);
    const auto elements = [](const CaseSpec& spec) { return spec.num_partitions * spec.rows_heads() * spec.ov_depth; };
    for (std::uint64_t i = 1; i < 64; ++i) {
      const CaseSpec spec = draw_spec(1, i, limits);
      if (elements(spec) < elements(smallest)) smallest = spec;
    }
    all.push_back(saved(file, {expand(smallest), "accuracy", format_token({0, smallest}), kGeneratorVersion}));
  }
  return all;
}

}  // namespace

const FuzzTarget kCaseFileTarget{"case_file", ".safetensors files: the format, cases and recordings, which are graded",
                                 run, nullptr, seeds};

}  // namespace lsecheck::fuzz
