#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "kernels/registry.h"
#include "properties/case_spec.h"
#include "properties/laws.h"

namespace lsecheck::cli {
namespace {

constexpr std::array<DType, 3> kDTypes{DType::bf16, DType::f16, DType::f32};

std::string_view describe(LseRegime regime) {
  switch (regime) {
    case LseRegime::narrow:
      return "within a few units of each other, small magnitude";
    case LseRegime::dominant:
      return "one partition far above the rest";
    case LseRegime::extreme_spread:
      return "gaps to and past 150: most weights underflow";
    case LseRegime::large_magnitude:
      return "abs(LSE) from 1e2 to 1e6 and past 2^24, narrow spread";
    case LseRegime::masked_sentinel:
      return "rows or partitions at a mask sentinel, -1e4 or -2^100";
    case LseRegime::ties:
      return "exactly equal LSEs, small integers";
    case LseRegime::flushed_weights:
      return "gaps that put weights at and below 2^-126";
    case LseRegime::attention:
      return "from a real split attention (random Q, K, V, masks)";
    case LseRegime::policy:
      return "NaN or +inf among the LSEs; only the special-value contract is checked";
  }
  return "";
}

std::string_view describe(ValueRegime regime) {
  switch (regime) {
    case ValueRegime::normal:
      return "bell-shaped around 0";
    case ValueRegime::cancelling:
      return "the weighted sum nearly cancels";
    case ValueRegime::constant:
      return "the same value in every partition; ties between two output values";
    case ValueRegime::one_hot:
      return "each element is nonzero in one partition only: the output is that weight";
    case ValueRegime::huge:
      return "near the type's overflow threshold";
    case ValueRegime::subnormal:
      return "around and below the smallest normal number of the partials or the output";
    case ValueRegime::nonfinite:
      return "Inf and NaN, also under weights that underflow";
    case ValueRegime::attention:
      return "from a real split attention, with the LSE regime of that name";
  }
  return "";
}

std::string_view describe(EmptyPattern pattern) {
  switch (pattern) {
    case EmptyPattern::none:
      return "every partition holds keys";
    case EmptyPattern::all:
      return "no partition does";
    case EmptyPattern::one_left:
      return "all but one are empty";
    case EmptyPattern::leading:
      return "the first ones are empty";
    case EmptyPattern::trailing:
      return "the last ones are empty: what over-splitting gives in production";
    case EmptyPattern::random:
      return "any subset";
    case EmptyPattern::mixed_rows:
      return "another pattern in each row";
  }
  return "";
}

std::string_view describe(Garbage garbage) {
  switch (garbage) {
    case Garbage::zero:
      return "zeros";
    case Garbage::nan:
      return "NaN";
    case Garbage::inf:
      return "infinities";
    case Garbage::stale_bits:
      return "the bits of an earlier launch";
  }
  return "";
}

std::string_view describe(SinkKind sink) {
  switch (sink) {
    case SinkKind::none:
      return "no sink";
    case SinkKind::finite:
      return "a finite natural logarithm in each head, often near the mass of the row";
    case SinkKind::minus_infinity:
      return "-inf in each head: no mass, but its operations run";
  }
  return "";
}

std::string_view describe(ExponentForm form) {
  switch (form) {
    case ExponentForm::log2:
      return "log2 units";
    case ExponentForm::natural:
      return "natural logarithms";
    case ExponentForm::scaled:
      return "raw score units, multiplied by a scale in the kernel";
  }
  return "";
}

std::string_view describe(MassRegime regime) {
  switch (regime) {
    case MassRegime::unit:
      return "1 everywhere";
    case MassRegime::near_one:
      return "1 to 3";
    case MassRegime::counts:
      return "1 to 4096 keys, times up to 2^8 for a maximum that lags behind";
    case MassRegime::spread:
      return "2^-20 to 2^20";
    case MassRegime::tiny:
      return "subnormal and the first normal numbers: reciprocals overflow or are flushed";
  }
  return "";
}

template <typename Enum>
void print_axis(std::string_view title, int count) {
  fmt::print("{}\n", title);
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    fmt::print("  {:<18} {}\n", name_of(value), describe(value));
  }
}

std::string types_of(const CombineKernel& kernel) {
  std::vector<std::string> pairs;
  for (const DType out : kDTypes) {
    for (const DType partial : kDTypes) {
      if (kernel.supports_types(out, partial)) pairs.push_back(fmt::format("{}<-{}", name_of(out), name_of(partial)));
    }
  }
  return fmt::format("{}", fmt::join(pairs, ", "));
}

std::string exponents_of(const CombineKernel& kernel) {
  std::vector<std::string_view> names;
  for (const ExponentForm form : kernel.exponent_forms()) names.push_back(name_of(form));
  return fmt::format("{}", fmt::join(names, ", "));
}

void list_kernels() {
  for (const CombineKernel* kernel : registered_kernels()) {
    fmt::print("{}\n  {}\n", kernel->name(), kernel->summary());
    fmt::print("  output<-partials   {}\n", types_of(*kernel));
    fmt::print("  depths             {}\n", fmt::join(kernel->depths(), ", "));
    fmt::print("  partitions         {}\n", kernel->partition_counts());
    fmt::print("  attention sink     {}\n", kernel->takes_sink() ? "yes" : "no");
    fmt::print("  masses             {}\n", kernel->takes_masses() ? "yes" : "no");
    fmt::print("  exponents          {}\n", exponents_of(*kernel));
  }
}

// "bits" maps -0 to +0 and every NaN to one; "=" compares every bit; "bound" holds against the exact value and the
// bound.
void list_laws() {
  for (const Law& law : all_laws()) fmt::print("{:<21} {:<9} {}\n", law.name, law.kind, law.statement);
}

void list_regimes() {
  print_axis<LseRegime>("LSE regimes (in log2 units)", kLseRegimeCount);
  print_axis<ValueRegime>("value regimes", kValueRegimeCount);
  print_axis<EmptyPattern>("empty partitions (LSE = -inf, or mass 0)", kEmptyPatternCount);
  print_axis<Garbage>("what lies under an empty partition", kGarbageCount);
  print_axis<SinkKind>("attention sink (kernels that take one)", kSinkKindCount);
  print_axis<ExponentForm>("exponents", kExponentFormCount);
  print_axis<MassRegime>("masses beside the exponents (kernels that take them)", kMassRegimeCount);
}

}  // namespace

void add_list_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("list", "what there is to run: kernels, laws, regimes of generated cases");
  const auto what = std::make_shared<std::string>();
  command->add_option("what", *what, "only this list (default: all)")
      ->check(CLI::IsMember({"kernels", "laws", "regimes"}));
  command->callback([what] {
    if (what->empty() || *what == "kernels") list_kernels();
    if (what->empty() || *what == "laws") list_laws();
    if (what->empty() || *what == "regimes") list_regimes();
  });
}

}  // namespace lsecheck::cli
