#include "properties/failure_shrink.h"

#include <rapidcheck/seq/Operations.h>
#include <rapidcheck/seq/Transform.h>
#include <rapidcheck/shrinkable/Operations.h>

#include <algorithm>
#include <cmath>

#include "properties/case_expand.h"
#include "properties/run_case.h"
#include "properties/spec_generator.h"
#include "properties/tensor_edits.h"
#include "reference/float_format.h"

namespace lsecheck {

namespace {

constexpr int kSpecTries = 250;
constexpr int kTensorTries = 1500;

// Tries a change and keeps it while the case still fails.
class TensorShrinker {
 public:
  TensorShrinker(CaseTensors tensors, const FailsLikewise& fails) : best_(std::move(tensors)), fails_(fails) {}

  CaseTensors take() { return std::move(best_); }
  const CaseTensors& best() const { return best_; }

  bool keep_if_failing(CaseTensors candidate) {
    if (tries_ >= kTensorTries) return false;
    if (candidate.lse_partial.empty() || kernel_of(candidate.spec).refuse(shape_of(candidate.spec))) return false;
    ++tries_;
    if (!fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

 private:
  CaseTensors best_;
  const FailsLikewise& fails_;
  int tries_ = 0;
};

// Removes runs of partitions (or rows), halves first, single ones last.
template <class Remap>
void remove_runs(TensorShrinker& shrinker, std::size_t count, const Remap& remap) {
  for (std::size_t run = count / 2; run >= 1; run /= 2) {
    for (std::size_t begin = 0; begin < count && count > 1;) {
      std::vector<std::int64_t> kept;
      for (std::size_t i = 0; i < count; ++i) {
        if (i < begin || i >= begin + run) kept.push_back(static_cast<std::int64_t>(i));
      }
      if (!kept.empty() && shrinker.keep_if_failing(remap(shrinker.best(), kept))) {
        count = kept.size();
      } else {
        begin += run;
      }
    }
  }
}

// Simpler stand-ins for an LSE or a value, simplest first. A finite value's own truncations come last.
std::vector<double> simpler_values(double value, DType type) {
  std::vector<double> simpler;
  if (!std::isfinite(value)) return {0.0};
  for (const double candidate : {0.0, 1.0, -1.0, std::trunc(value)}) simpler.push_back(candidate);
  int exponent = 0;
  const double significand = std::frexp(value, &exponent);
  for (int bits = 1; bits < format_of(type).precision; bits *= 2) {
    simpler.push_back(std::ldexp(std::trunc(std::ldexp(significand, bits)), exponent - bits));
  }
  const auto same = std::find(simpler.begin(), simpler.end(), value);
  simpler.erase(same, simpler.end());
  return simpler;
}

void shrink_lses(TensorShrinker& shrinker) {
  const auto for_all = [&](auto change) {
    CaseTensors candidate = shrinker.best();
    for (float& lse : candidate.lse_partial) {
      if (std::isfinite(lse)) lse = change(lse);
    }
    shrinker.keep_if_failing(std::move(candidate));
  };
  for_all([](float lse) { return std::trunc(lse); });
  for_all([](float) { return 0.0F; });
  for (std::size_t i = 0; i < shrinker.best().lse_partial.size(); ++i) {
    const float lse = shrinker.best().lse_partial[i];
    if (!std::isfinite(lse)) continue;
    for (const double simpler : simpler_values(lse, DType::f32)) {
      CaseTensors candidate = shrinker.best();
      candidate.lse_partial[i] = static_cast<float>(simpler);
      if (shrinker.keep_if_failing(std::move(candidate))) break;
    }
  }
}

// Masses to 1 and shorter significands, exponents read as they are, a scale of 1.
void shrink_masses(TensorShrinker& shrinker) {
  if (shrinker.best().spec.exponent != ExponentForm::log2) {
    CaseTensors unscaled = shrinker.best();
    unscaled.exponent_scale = 1;
    CaseTensors as_they_are = unscaled;
    as_they_are.spec.exponent = ExponentForm::log2;
    if (!shrinker.keep_if_failing(std::move(as_they_are))) shrinker.keep_if_failing(std::move(unscaled));
  }
  const auto is_mass = [](float mass) { return mass > 0 && std::isfinite(mass); };
  CaseTensors ones = shrinker.best();
  for (float& mass : ones.mass_partial) {
    if (is_mass(mass)) mass = 1;
  }
  if (ones.mass_partial == shrinker.best().mass_partial || shrinker.keep_if_failing(std::move(ones))) return;
  for (std::size_t i = 0; i < shrinker.best().mass_partial.size(); ++i) {
    const float mass = shrinker.best().mass_partial[i];
    if (!is_mass(mass)) continue;
    for (const double simpler : simpler_values(mass, DType::f32)) {
      if (!is_mass(static_cast<float>(simpler))) continue;  // a mass of 0 would empty the partition
      CaseTensors candidate = shrinker.best();
      candidate.mass_partial[i] = static_cast<float>(simpler);
      if (shrinker.keep_if_failing(std::move(candidate))) break;
    }
  }
}

void shrink_sink(TensorShrinker& shrinker) {
  if (shrinker.best().attention_sink.empty() || shrinker.keep_if_failing(without_sink(shrinker.best()))) return;
  for (std::size_t head = 0; head < shrinker.best().attention_sink.size(); ++head) {
    const float sink = shrinker.best().attention_sink[head];
    if (!std::isfinite(sink)) continue;
    for (const double simpler : simpler_values(sink, DType::f32)) {
      CaseTensors candidate = shrinker.best();
      candidate.attention_sink[head] = static_cast<float>(simpler);
      if (shrinker.keep_if_failing(std::move(candidate))) break;
    }
  }
}

// Blocks of values at once, whole tensor first, then halves; single elements only as far as the tries reach.
void shrink_values(TensorShrinker& shrinker) {
  const DType type = shrinker.best().spec.partial;
  const std::size_t count = shrinker.best().o_partial.size();
  for (std::size_t block = count; block >= 1; block /= 2) {
    for (std::size_t begin = 0; begin < count; begin += block) {
      const auto first = shrinker.best().o_partial.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = first + static_cast<std::ptrdiff_t>(std::min(block, count - begin));
      const double sample = decode(type, *std::max_element(first, last));
      if (std::all_of(first, last, [](std::uint32_t bits) { return bits == 0; })) continue;
      for (const double simpler : simpler_values(sample, type)) {
        CaseTensors candidate = shrinker.best();
        for (std::size_t i = begin; i < std::min(begin + block, count); ++i) {
          candidate.o_partial[i] = round_to_nearest_even(type, simpler);
        }
        if (candidate.o_partial == shrinker.best().o_partial) continue;
        if (shrinker.keep_if_failing(std::move(candidate))) break;
      }
    }
  }
}

}  // namespace

FailsLikewise fails_law(const Law& law, Reference& reference) {
  return [&law, &reference](const CaseTensors& tensors) {
    return check_guarded(law, tensors, reference).status == LawOutcome::Status::fails;
  };
}

CaseSpec shrink_spec(const CaseSpec& spec, const FailsLikewise& fails) {
  int tries = 0;
  const auto still_fails = [&](const CaseSpec& candidate) {
    if (tries >= kSpecTries) return false;
    ++tries;
    return fails(bucketed(expand(candidate)));
  };
  return rc::shrinkable::findLocalMin(shrinkable_spec(spec), still_fails).first;
}

CaseTensors shrink_tensors(const CaseTensors& tensors, const FailsLikewise& fails) {
  TensorShrinker shrinker(bucketed(tensors), fails);
  remove_runs(shrinker, shrinker.best().spec.rows_heads(),
              [](const CaseTensors& from, const auto& kept) { return remap_rows(from, kept); });
  remove_runs(shrinker, shrinker.best().spec.num_partitions,
              // Padded back to a count that can be launched; what lies past the kept ones is that padding.
              [](const CaseTensors& from, const auto& kept) {
                CaseTensors fewer = remap_partitions(from, kept);
                return launchable(fewer).value_or(fewer);
              });
  for (const int depth : kernel_of(tensors.spec).depths()) {
    if (depth >= shrinker.best().spec.ov_depth) break;
    if (shrinker.keep_if_failing(with_depth(shrinker.best(), static_cast<std::uint16_t>(depth)))) break;
  }
  shrink_sink(shrinker);
  shrink_masses(shrinker);
  shrink_lses(shrinker);
  shrink_values(shrinker);
  return shrinker.take();
}

}  // namespace lsecheck
