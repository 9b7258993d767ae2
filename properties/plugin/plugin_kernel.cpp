#include "properties/plugin/plugin_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "properties/plugin/guarded_buffer.h"
#include "properties/recorded_bound.h"
#include "reference/bound_arithmetic.h"

namespace lsecheck {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// Not graded: any class of value will do.
constexpr std::uint8_t kAnything = kFinite | kNaN | kPositiveInf | kNegativeInf;

std::atomic<bool> running{false};

// The environment of a call: the plugin's own, and afterwards what this program had. Objects built with -ffast-math
// leave the processor flushing subnormals, which would change what decides a verdict here.
class EnvironmentOfCall {
 public:
  explicit EnvironmentOfCall(const std::fenv_t& environment) {
    std::fegetenv(&before_);
    std::fesetenv(&environment);
  }
  ~EnvironmentOfCall() { std::fesetenv(&before_); }
  EnvironmentOfCall(const EnvironmentOfCall&) = delete;
  EnvironmentOfCall& operator=(const EnvironmentOfCall&) = delete;

 private:
  std::fenv_t before_;
};

// One line of plain characters, whatever the plugin wrote.
std::string error_text(std::span<const char> buffer) {
  std::string text(buffer.data(), ::strnlen(buffer.data(), buffer.size()));
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

// Nothing is promised of the row: a problem without terms stands for it.
RowExpectation anything_goes(std::size_t num_partitions, std::size_t depth) {
  RowExpectation row;
  row.x.assign(num_partitions, 0.0);
  row.a.assign(num_partitions * depth, 0.0);
  row.due.assign(depth, kAnything);
  return row;
}

// What is due of an element whose exact value is finite. Sums that overflow may leave NaN, or Inf of either sign, also
// the one opposite to an Inf that is due.
std::uint8_t finite_element_due(const RecordedRowBound& bound, std::size_t d, DType out) {
  if (bound.may_overflow[d] == 0) return kFinite;
  const double magnitude = add_up(std::fabs(bound.value[d]), bound.value_error[d]);
  return magnitude >= overflow_threshold(out) ? kAnything : kFinite | kNaNByOverflow;
}

}  // namespace

PluginKernel::PluginKernel(const lsecheck_plugin* plugin, const std::fenv_t& environment)
    : plugin_(plugin),
      description_(describe_plugin(plugin)),
      exponent_(description_.model.base == ExponentBase::natural ? ExponentForm::natural : ExponentForm::log2),
      environment_(environment) {}

bool PluginKernel::in_call() {
  return running;
}

std::string PluginKernel::partition_counts() const {
  return fmt::format("{} to {}", description_.min_partitions, description_.max_partitions);
}

bool PluginKernel::supports_types(DType out, DType partial) const {
  return std::any_of(description_.types.begin(), description_.types.end(),
                     [&](const TypePair& pair) { return pair.out == out && pair.partial == partial; });
}

std::optional<std::string> PluginKernel::refuse(const CombineShape& shape) const {
  const auto& depths = description_.depths;
  if (shape.num_partitions < description_.min_partitions || shape.num_partitions > description_.max_partitions) {
    return fmt::format("num_partitions = {}: {} takes {}", shape.num_partitions, description_.name, partition_counts());
  }
  if (std::find(depths.begin(), depths.end(), shape.ov_depth) == depths.end()) {
    return fmt::format("ov_depth = {}: {} takes {}", shape.ov_depth, description_.name, fmt::join(depths, ", "));
  }
  if (!supports_types(shape.out, shape.partial)) {
    return fmt::format("partials {} with output {}: {} does not take them", name_of(shape.partial), name_of(shape.out),
                       description_.name);
  }
  if (shape.exponent != exponent_) return fmt::format("{} takes LSEs of the other base", description_.name);
  if (shape.rows < 1 || shape.heads < 1) return "rows and heads must be at least 1";
  return std::nullopt;
}

std::optional<int> PluginKernel::launchable_partitions(const CombineShape& shape) const {
  if (shape.num_partitions > description_.max_partitions) return std::nullopt;
  return std::max(shape.num_partitions, description_.min_partitions);
}

std::vector<KernelVariant> PluginKernel::variants(const CombineShape&) const {
  KernelVariant only;
  only.name = description_.name;
  return {only};
}

std::optional<simt::Fault> PluginKernel::launch(const CombineShape& shape, const KernelVariant&,
                                                const CombineBuffers& buffers, const ExecutionOptions&) const {
  GuardedBuffer lse(buffers.lse_partial);
  GuardedBuffer o(buffers.o_partial);
  GuardedBuffer output(buffers.output);
  std::array<char, 512> error{};
  const lsecheck_combine_call call{.num_partitions = static_cast<std::uint32_t>(shape.num_partitions),
                                   .rows = shape.rows,
                                   .heads = shape.heads,
                                   .ov_depth = static_cast<std::uint32_t>(shape.ov_depth),
                                   .out_type = plugin_type(shape.out),
                                   .partial_type = plugin_type(shape.partial),
                                   .lse_partial = reinterpret_cast<const float*>(lse.data()),
                                   .o_partial = o.data(),
                                   .output = output.data(),
                                   .error = error.data(),
                                   .error_size = error.size()};
  int status = 0;
  {
    const std::lock_guard alone(calls_);
    const EnvironmentOfCall environment(environment_);
    running = true;
    status = plugin_->combine(&call);
    running = false;
  }
  const auto fault = [&](const std::string& what) {
    return simt::Fault{simt::FaultKind::kernel_check, 0, description_.name + ' ' + what};
  };
  const auto changed = [](const GuardedBuffer& copy, std::span<const std::byte> original) {
    return !std::equal(original.begin(), original.end(), copy.content().begin());
  };
  if (status != 0) {
    const std::string text = error_text(error);
    return fault(fmt::format("returned {}{}", status, text.empty() ? ", without a text" : ": " + text));
  }
  if (!output.bands_intact()) return fault("wrote outside its output");
  if (!lse.bands_intact() || changed(lse, buffers.lse_partial)) return fault("wrote to lse_partial or beside it");
  if (!o.bands_intact() || changed(o, buffers.o_partial)) return fault("wrote to o_partial or beside it");
  std::copy(output.content().begin(), output.content().end(), buffers.output.begin());
  return std::nullopt;
}

ErrorModel PluginKernel::model_for(DType out) const {
  ErrorModel model = description_.model;
  model.out = out;
  return model;
}

RowExpectation PluginKernel::expect(const CombineShape& shape, const KernelVariant&, const RowInput& row,
                                    sfu::UnitKind) const {
  const std::size_t num_partitions = row.lse.size();
  const auto depth = static_cast<std::size_t>(shape.ov_depth);
  const auto is_special = [](float lse) { return std::isnan(lse) || lse == INFINITY; };
  if (std::any_of(row.lse.begin(), row.lse.end(), is_special)) return anything_goes(num_partitions, depth);

  RowExpectation expectation;
  if (std::all_of(row.lse.begin(), row.lse.end(), [](float lse) { return lse == -INFINITY; })) {
    expectation.row_class = description_.all_empty_is_nan ? RowClass::all_nan : RowClass::zeros;
    return expectation;
  }
  expectation.base = description_.model.base;
  expectation.x.assign(row.lse.begin(), row.lse.end());
  expectation.a.assign(num_partitions * depth, 0.0);
  expectation.due.assign(depth, kFinite);
  for (std::size_t p = 0; p < num_partitions; ++p) {
    const bool empty = row.lse[p] == -INFINITY;
    if (empty && description_.drops_garbage) continue;
    for (std::size_t d = 0; d < depth; ++d) {
      const std::uint32_t bits = row.o[p * depth + d];
      if (!is_finite(shape.partial, bits)) {
        expectation.due[d] = kAnything;
      } else if (!empty) {
        expectation.a[p * depth + d] = decode(shape.partial, bits);
      }
    }
  }
  const RecordedRowBound bound = bound_row(model_for(shape.out), expectation.problem());
  for (std::size_t d = 0; d < depth; ++d) {
    if (!bound.bounded) {
      expectation.due[d] = kAnything;
    } else if (expectation.due[d] == kFinite) {
      expectation.due[d] = finite_element_due(bound, d, shape.out);
    }
  }
  return expectation;
}

RowBound PluginKernel::bound(const CombineShape& shape, const RowExpectation& row, sfu::UnitKind) const {
  RecordedRowBound bound = bound_row(model_for(shape.out), row.problem());
  if (!bound.bounded) {
    const std::size_t depth = row.due.size();
    return {std::vector<double>(depth, kInf), std::vector<double>(depth, kInf), std::vector<std::uint8_t>(depth, 1)};
  }
  return {std::move(bound.bound), std::move(bound.bound_before_cast), std::move(bound.may_overflow)};
}

}  // namespace lsecheck
