#include "fuzz/combine_case_input.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "properties/case_kernel.h"
#include "properties/case_limits.h"

namespace lsecheck::fuzz {
namespace {

// A case is small, so that many run in a second; depth, rows and heads repeat the same arithmetic. A kernel whose
// depths are all larger runs its first one.
constexpr int kMaxDepth = 128;
constexpr unsigned kMaxRows = 3;
constexpr unsigned kMaxHeads = 3;
constexpr std::size_t kMaxPairs = 512;

enum HeaderByte : std::size_t {
  kKernel,
  kArch,
  kTypes,
  kDepth,
  kSelection,
  kPartitions,
  kRows,
  kHeads,
  kSink,
  kExponent,
  kUnit,
  kSchedule,
  kSeed = 12,
  kScale = 16
};

std::uint32_t word_at(FuzzInput input, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, input.data() + at, sizeof word);
  return word;
}

template <class Choices>
auto chosen(const Choices& choices, std::uint8_t byte) {
  return choices[byte % choices.size()];
}

// The partition counts at the spec's depth, or at the kernel's first depth that is compiled for the spec's types.
std::vector<int> counts_at_a_depth(CaseSpec& spec, const CombineKernel& kernel) {
  std::vector<int> depths(kernel.depths().begin(), kernel.depths().end());
  depths.insert(depths.begin(), spec.ov_depth);
  for (const int depth : depths) {
    spec.ov_depth = static_cast<std::uint16_t>(depth);
    std::vector<int> counts = launchable_counts(spec);
    std::erase_if(counts, [&](int count) { return static_cast<std::uint64_t>(count) * spec.rows_heads() > kMaxPairs; });
    if (!counts.empty()) return counts;
  }
  return {};
}

std::optional<CaseSpec> decode_spec(FuzzInput input) {
  if (input.size() < kHeaderBytes) return std::nullopt;
  CaseSpec spec;
  spec.kernel = static_cast<KernelId>(input[kKernel] % kKernelCount);
  const CombineKernel* const kernel = registered_kernel(spec.kernel);
  if (kernel == nullptr) return std::nullopt;
  spec.arch = chosen(kAllArchs, input[kArch]);
  std::vector<TypePair> types;
  for (const TypePair& pair : kTypePairs) {
    if (kernel->supports_types(pair.out, pair.partial)) types.push_back(pair);
  }
  spec.out = chosen(types, input[kTypes]).out;
  spec.partial = chosen(types, input[kTypes]).partial;
  std::vector<int> depths;
  for (const int depth : kernel->depths()) {
    if (depth <= kMaxDepth) depths.push_back(depth);
  }
  if (depths.empty()) depths.push_back(kernel->depths().front());
  spec.ov_depth = static_cast<std::uint16_t>(chosen(depths, input[kDepth]));
  spec.exponent = chosen(kernel->exponent_forms(), input[kExponent]);
  if (kernel->takes_sink()) spec.sink = static_cast<SinkKind>(input[kSink] % kSinkKindCount);
  spec.rows = 1 + input[kRows] % kMaxRows;
  spec.heads = static_cast<std::uint16_t>(1 + input[kHeads] % kMaxHeads);
  spec.unit.kind = static_cast<sfu::UnitKind>(input[kUnit] % 2);
  spec.schedule = static_cast<Schedule>(input[kSchedule] % 2);
  spec.seed = word_at(input, kSeed);
  if (spec.unit.kind == sfu::UnitKind::spec) spec.unit.seed = spec.seed;
  // Not every depth is compiled for every pair of types.
  const std::vector<int> counts = counts_at_a_depth(spec, *kernel);
  if (counts.empty()) return std::nullopt;
  spec.num_partitions = static_cast<std::uint16_t>(chosen(counts, input[kPartitions]));
  spec.selection = static_cast<Selection>(input[kSelection] % kSelectionCount);
  if (spec_error(spec)) spec.selection = Selection::production;
  if (spec_error(spec)) return std::nullopt;
  return spec;
}

InputLayout layout_of(const CaseSpec& spec) {
  return {spec.sink == SinkKind::finite ? spec.heads : std::size_t{0}, spec.num_partitions * spec.rows_heads(),
          registered_kernel(spec.kernel)->takes_masses()};
}

class Words {
 public:
  explicit Words(FuzzInput input) : words_(input.subspan(kHeaderBytes)) {}

  std::uint32_t bits(std::size_t i) const { return i < words_.size() / 4 ? word_at(words_, 4 * i) : 0; }
  float value(std::size_t i, float missing) const {
    return i < words_.size() / 4 ? std::bit_cast<float>(bits(i)) : missing;
  }

 private:
  FuzzInput words_;
};

}  // namespace

std::optional<InputLayout> combine_case_layout(FuzzInput input) {
  const auto spec = decode_spec(input);
  return spec ? std::optional(layout_of(*spec)) : std::nullopt;
}

std::optional<DecodedCase> decode_combine_case(FuzzInput input) {
  const auto spec = decode_spec(input);
  if (!spec) return std::nullopt;
  DecodedCase decoded{{*spec, {}, {}}, layout_of(*spec)};
  CaseTensors& tensors = decoded.tensors;
  const InputLayout& layout = decoded.layout;
  const Words words(input);
  if (spec->sink == SinkKind::minus_infinity) tensors.attention_sink.assign(spec->heads, -INFINITY);
  for (std::size_t i = 0; i < layout.sinks; ++i) {
    const float sink = words.value(i, 0);
    tensors.attention_sink.push_back(std::isfinite(sink) ? sink : -INFINITY);
  }
  bool special = false;
  for (std::size_t i = 0; i < layout.pairs; ++i) {
    const float x = words.value(layout.first_exponent() + i, 0);
    special = special || std::isnan(x) || x == INFINITY;
    tensors.lse_partial.push_back(x);
  }
  for (std::size_t i = 0; i < layout.mass_words(); ++i) {
    const float mass = std::fabs(words.value(layout.first_mass() + i, 1));
    special = special || !std::isfinite(mass);
    tensors.mass_partial.push_back(mass);
  }
  if (special) tensors.spec.lse = LseRegime::policy;
  const std::uint32_t mask = size_of(spec->partial) == 4 ? 0xffffffffU : 0xffffU;
  for (std::size_t i = 0; i < layout.pairs * spec->ov_depth; ++i) {
    const std::size_t pair = i / spec->ov_depth;
    const std::size_t column = i % spec->ov_depth % kColumns;
    tensors.o_partial.push_back(words.bits(layout.first_value() + pair * kColumns + column) & mask);
  }
  if (spec->exponent == ExponentForm::scaled) {
    const float scale = std::fabs(std::bit_cast<float>(word_at(input, kScale)));
    tensors.exponent_scale = std::isnormal(scale) ? scale : 1;
  }
  return decoded;
}

std::vector<std::vector<std::uint8_t>> combine_case_seeds() {
  std::vector<std::vector<std::uint8_t>> seeds;
  for (std::uint8_t kernel = 0; kernel < kKernelCount; ++kernel) {
    for (std::size_t types = 0; types < kTypePairs.size(); ++types) {
      std::vector<std::uint8_t> seed(kHeaderBytes, 0);
      seed[kKernel] = kernel;
      seed[kTypes] = static_cast<std::uint8_t>(types);
      seed[kArch] = 1;
      const auto layout = combine_case_layout(seed);
      if (!layout) continue;
      for (std::size_t i = 0; i < layout->words(); ++i) {
        const bool value = i >= layout->first_value();
        // 1 and 2 as exponents and masses, 1.5 upward as values in both halves of the word.
        const std::uint32_t word =
            value ? 0x3fc03fc0U + static_cast<std::uint32_t>(i) : (i % 2 == 0 ? 0x3f800000U : 0x40000000U);
        for (int shift = 0; shift < 32; shift += 8) seed.push_back(static_cast<std::uint8_t>(word >> shift & 0xff));
      }
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

}  // namespace lsecheck::fuzz
