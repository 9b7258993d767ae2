#include <fmt/format.h>

#include <span>

#include "kernels/ptx_float.h"
#include "properties/explain/contract_replays.h"

namespace lsecheck {
namespace {

// A partition, or the combined ones of a warpgroup.
struct Partial {
  float m;
  Exact l;
  Exact o;
};

struct LevelSteps {
  Step weights;
  Step masses;
  Step values;
};

LevelSteps steps_of_level(ContractRun& run, const std::string& level) {
  Step weights = run.step(level + "s = ex2(m_g - m)");
  Step masses = run.step(level + "l = sum of s l_g");
  Step values = run.step(level + "acc = sum of s o_g");
  return {weights, masses, values};
}

std::vector<Partial> partials_of(const ElementInput& input) {
  std::vector<Partial> partials;
  for (std::size_t p = 0; p < input.exponent.size(); ++p) {
    partials.push_back({input.exponent[p], input.mass[p], input.o[p]});
  }
  return partials;
}

float reference_exponent(std::span<const Partial> partials) {
  float m = flush_operand(partials[0].m);
  for (const Partial& partial : partials) m = max_ftz(m, partial.m);
  return m;
}

Exact weight_of(const ElementInput& input, float m, float reference, const Step& step) {
  const Exact difference = step.sub(m, reference);
  return step.ex2(input.form == ExponentForm::scaled ? step.mul_ftz(difference, input.exponent_scale) : difference);
}

// Level 1 of the partitions [first, first + m_pack), m_pack 2 or 4.
Partial level1(const ElementInput& input, std::span<const Partial> partials, std::size_t first, const LevelSteps& steps,
               ContractRun& run) {
  const std::size_t m_pack = partials.size();
  const std::size_t chains = m_pack / 2;  // of masses: partition g goes on with the sum of partition g - chains
  Partial all{reference_exponent(partials), 0, 0};
  std::vector<Exact> mass(m_pack);
  for (std::size_t g = 0; g < m_pack; ++g) {
    const Exact s = weight_of(input, partials[g].m, all.m, steps.weights);
    mass[g] = g < chains ? steps.masses.mul(s, partials[g].l) : steps.masses.fma(s, partials[g].l, mass[g - chains]);
    all.o = g == 0 ? steps.values.mul_ftz(s, partials[g].o) : steps.values.fma_ftz(s, partials[g].o, all.o);
    if (partials[g].m != negative_infinity()) {
      run.partition(first + g, s, input.columns_past_depth > 0 ? mass[g] : all.o);
    }
  }
  all.l = m_pack == 2 ? mass[1] : steps.masses.add(mass[2], mass[3]);
  return all;
}

struct Combined {
  Exact s_own;
  Exact s_peer;
  Partial all;
};

Combined level2(const ElementInput& input, const Partial& own, const Partial& peer, const LevelSteps& steps) {
  const float m = max_ftz(own.m, peer.m);
  const Exact s_own = weight_of(input, own.m, m, steps.weights);
  const Exact s_peer = weight_of(input, peer.m, m, steps.weights);
  return {s_own,
          s_peer,
          {m, steps.masses.fma(s_peer, peer.l, steps.masses.mul_ftz(s_own, own.l)),
           steps.values.fma_ftz(s_peer, peer.o, steps.values.mul_ftz(s_own, own.o))}};
}

void show(ContractRun& run, const std::string& of, const Partial& partial) {
  run.value("m" + of, partial.m);
  run.value("l" + of, partial.l);
  run.value("acc" + of, partial.o);
}

Exact normalised(const Partial& all, ContractRun& run) {
  const Step reciprocal = run.step("rcp(l)");
  const Exact inverse = reciprocal.rcp(all.l);
  run.value("rcp(l)", inverse);
  const Step scaling = run.step("acc times rcp(l)");
  return scaling.mul_ftz(all.o, inverse);
}

}  // namespace

Exact replay_fa4_ws_intracta(const ElementInput& input, ContractRun& run) {
  const LevelSteps steps = steps_of_level(run, "");
  const Partial all = level1(input, partials_of(input), 0, steps, run);
  show(run, "", all);
  return normalised(all, run);
}

Exact replay_fa4_ws_level1(const ElementInput& input, ContractRun& run) {
  const LevelSteps steps = steps_of_level(run, "");
  const Partial all = level1(input, partials_of(input), 0, steps, run);
  run.value("m", all.m);
  if (input.columns_past_depth == 2) return all.m;
  return input.columns_past_depth == 1 ? all.l : all.o;
}

Exact replay_fa4_ws_level2(const ElementInput& input, ContractRun& run) {
  const std::vector<Partial> partials = partials_of(input);
  if (partials.size() == 1) {  // one warpgroup alone, whose m is not looked at
    run.partition(0, 1, partials[0].o);
    return normalised(partials[0], run);
  }
  const LevelSteps steps = steps_of_level(run, "");
  const Combined combined = level2(input, partials[0], partials[1], steps);
  if (partials[0].m != negative_infinity()) {
    run.partition(0, combined.s_own, steps.values.mul_ftz(combined.s_own, partials[0].o));
  }
  if (partials[1].m != negative_infinity()) run.partition(1, combined.s_peer, combined.all.o);
  show(run, "", combined.all);
  return normalised(combined.all, run);
}

Exact replay_fa4_ws_two_level(const ElementInput& input, ContractRun& run) {
  const LevelSteps first = steps_of_level(run, "level 1: ");
  const LevelSteps second = steps_of_level(run, "level 2: ");
  const std::vector<Partial> partials = partials_of(input);
  const std::size_t m_pack = partials.size() / 2;
  const Partial own = level1(input, std::span(partials).first(m_pack), 0, first, run);
  const Partial peer = level1(input, std::span(partials).subspan(m_pack), m_pack, first, run);
  show(run, " of warpgroup 0", own);
  show(run, " of warpgroup 1", peer);
  const Combined combined = level2(input, own, peer, second);
  run.value("s of warpgroup 0", combined.s_own);
  run.value("s of warpgroup 1", combined.s_peer);
  show(run, "", combined.all);
  return normalised(combined.all, run);
}

}  // namespace lsecheck
