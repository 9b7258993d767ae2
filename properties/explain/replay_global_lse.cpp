#include "kernels/ptx_float.h"
#include "properties/explain/contract_replays.h"

namespace lsecheck {

Exact replay_global_lse(const ElementInput& input, ContractRun& run) {
  const std::vector<float>& lse = input.exponent;
  float m = negative_infinity();
  for (const float one : lse) m = max_non_nan(m, one);
  run.value("m", m);

  const Step sum = run.step("s = sum of ex2(lse - m)");
  std::vector<Exact> lanes(32);
  for (std::size_t p = 0; p < lse.size(); ++p) lanes[p % 32] = sum.add(lanes[p % 32], sum.ex2(sum.sub(lse[p], m)));
  const Exact s = sum.warp_sum(std::move(lanes));
  run.value("s", s);

  const Step global = run.step("g = lg2(s) + m");
  Exact g = global.add(global.lg2(s), m);
  run.value("g", g);
  if (input.sink) {
    const Step sink = run.step("g + lg2(1 + ex2(sink log2e - g))");
    const Exact a = sink.natural_to_base_2(*input.sink);
    g = sink.add(g, sink.lg2(sink.add(1, sink.ex2(sink.sub(a, g)))));
    run.value("g with sink", g);
  }

  const Step weights = run.step("w = ex2(lse - g)");
  const Step fold = run.step("fma of every w and o");
  Exact acc = 0;
  for (std::size_t p = 0; p < lse.size(); ++p) {
    const Exact w = weights.ex2(weights.sub(lse[p], g));
    acc = fold.fma(w, w != 0 ? input.o[p] : 0.0F, acc);
    if (lse[p] != negative_infinity()) run.partition(p, w, acc);
  }
  return acc;
}

}  // namespace lsecheck
