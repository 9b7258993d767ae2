#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/ptx_float.h"
#include "properties/explain/contract_replays.h"

namespace lsecheck {
namespace {

constexpr std::size_t kWarps = 8;

struct WarpState {
  float m = negative_infinity();
  Exact l = 0;
  Exact acc = 0;
};

struct FoldSteps {
  Step weights;
  Step masses;
  Step values;
};

// The splits [first, last) of one warp.
WarpState fold_splits(const ElementInput& input, std::size_t first, std::size_t last, const FoldSteps& steps,
                      ContractRun& run) {
  WarpState state;
  for (std::size_t p = first; p < last; ++p) {
    const float lse = input.exponent[p];
    if (lse == negative_infinity()) continue;
    const float n = max_non_nan(state.m, lse);
    const Exact r = steps.weights.ex2(steps.weights.sub(state.m, n));
    const Exact e = steps.weights.ex2(steps.weights.sub(lse, n));
    state.acc = steps.values.fma(r, state.acc, steps.values.mul(e, input.o[p]));
    state.l = steps.masses.fma(state.l, r, e);
    state.m = n;
    run.partition(p, e, state.acc);
  }
  return state;
}

WarpState merge(const WarpState& mine, const WarpState& partner, const FoldSteps& steps) {
  const float n = max_non_nan(mine.m, partner.m);
  if (n == negative_infinity()) return mine;  // both weights 0, l and acc 0 as they are
  const Exact r = steps.weights.ex2(steps.weights.sub(mine.m, n));
  const Exact partner_r = steps.weights.ex2(steps.weights.sub(partner.m, n));
  return {n, steps.masses.fma(mine.l, r, steps.masses.mul(partner.l, partner_r)),
          steps.values.fma(r, mine.acc, steps.values.mul(partner_r, partner.acc))};
}

}  // namespace

Exact replay_mla_split_parallel(const ElementInput& input, ContractRun& run) {
  const Step fold_weights = run.step("fold: ex2 of lse and m less the new m");
  const Step merge_weights = run.step("merge: ex2 of both m less the new m");
  const Step masses = run.step("l, folded and merged");
  const Step fold_values = run.step("fold: acc in every warp");
  const Step merge_values = run.step("merge: acc of the warps");

  const std::size_t splits = input.exponent.size();
  const std::size_t per_warp = (splits + kWarps - 1) / kWarps;
  std::array<WarpState, kWarps> warps;
  for (std::size_t w = 0; w < kWarps; ++w) {
    warps[w] = fold_splits(input, std::min(w * per_warp, splits), std::min((w + 1) * per_warp, splits),
                           {fold_weights, masses, fold_values}, run);
    if (warps[w].m == negative_infinity()) continue;
    run.value(fmt::format("m of warp {}", w), warps[w].m);
    run.value(fmt::format("l of warp {}", w), warps[w].l);
    run.value(fmt::format("acc of warp {}", w), warps[w].acc);
  }
  for (std::size_t stride = kWarps / 2; stride > 0; stride /= 2) {
    for (std::size_t w = 0; w < stride; ++w) {
      warps[w] = merge(warps[w], warps[w + stride], {merge_weights, masses, merge_values});
    }
  }
  WarpState& all = warps[0];
  run.value("m", all.m);
  run.value("l", all.l);
  if (input.sink) {
    const Step sink = run.step("l + ex2(sink log2e - m)");
    all.l = sink.add(all.l, sink.ex2(sink.sub(sink.natural_to_base_2(*input.sink), all.m)));
    run.value("l with sink", all.l);
  }
  const Step reciprocal = run.step("1 / l");
  const Exact inverse = reciprocal.one_over(all.l);  // some split is real, so that l is at least its ex2(0)
  run.value("1 / l", inverse);
  run.value("acc", all.acc);
  const Step scaling = run.step("acc times 1 / l");
  return scaling.mul(inverse, all.acc);
}

}  // namespace lsecheck
