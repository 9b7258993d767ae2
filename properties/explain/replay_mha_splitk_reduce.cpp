#include "kernels/ptx_float.h"
#include "properties/explain/contract_replays.h"

namespace lsecheck {

Exact replay_mha_splitk_reduce(const ElementInput& input, ContractRun& run) {
  const std::size_t partitions = input.exponent.size();
  float m = negative_infinity();
  for (const float one : input.exponent) m = max_non_nan(m, one);
  run.value("M", m);

  const Step weights = run.step("w = l ex2(m - M)");
  std::vector<Exact> w(32);
  for (std::size_t p = 0; p < partitions; ++p) {
    Exact difference = weights.sub(input.exponent[p], m);
    if (input.form == ExponentForm::natural) difference = weights.natural_to_base_2(difference);
    w[p] = weights.mul(input.mass[p], weights.ex2(difference));
  }
  const Step sum = run.step("total of w");
  const Exact total = sum.warp_sum(w);
  run.value("total", total);
  const Step reciprocal = run.step("1 / total");
  const Exact inverse = reciprocal.one_over(total);
  run.value("1 / total", inverse);

  const Step fold = run.step("compensated sum of w o");
  Exact acc = 0;
  Exact compensation = 0;
  for (std::size_t p = 0; p < partitions; ++p) {
    const Exact term = fold.mul(w[p] > 0 ? input.o[p] : 0.0F, w[p]);
    const Exact y = fold.sub(term, compensation);
    const Exact t = fold.add(acc, y);
    compensation = fold.sub(fold.sub(t, acc), y);
    acc = t;
    if (input.mass[p] != 0) run.partition(p, w[p], acc);
  }
  run.value("acc", acc);
  const Step scaling = run.step("acc times 1 / total");
  return scaling.mul(acc, inverse);
}

}  // namespace lsecheck
