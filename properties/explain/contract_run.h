#pragma once

#include <boost/multiprecision/mpfr.hpp>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/sfu/sfu.h"

// The arithmetic in which a kernel's contract is replayed for one output element: the first steps as the kernel does
// them in f32, exact ones behind them. A contract is written once and run for every number of f32 steps.
namespace lsecheck {

// Exponents reach 2^100 and are multiples of 2^-149, or 48-bit products with a scale, so that differences are exact in
// 300 bits; the rest of the 1000 bits is for what the steps change, differences of nearly equal results.
using Exact =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<301>, boost::multiprecision::et_off>;

// One step: operations that are either all in f32 or all exact. Every operand of a step in f32 must be an f32 value: an
// input or the result of a step that is in f32, too; std::logic_error otherwise. Exact operations know no flush.
class Step {
 public:
  Step(bool in_f32, const sfu::Unit& unit) : in_f32_(in_f32), unit_(unit) {}

  Exact add(const Exact& a, const Exact& b) const;
  Exact sub(const Exact& a, const Exact& b) const;
  Exact mul(const Exact& a, const Exact& b) const;
  Exact mul_ftz(const Exact& a, const Exact& b) const;
  Exact fma(const Exact& a, const Exact& b, const Exact& c) const;
  Exact fma_ftz(const Exact& a, const Exact& b, const Exact& c) const;
  Exact ex2(const Exact& x) const;
  Exact lg2(const Exact& x) const;
  Exact one_over(const Exact& x) const;            // true division
  Exact rcp(const Exact& x) const;                 // rcp.approx.ftz
  Exact natural_to_base_2(const Exact& x) const;   // times log2(e)
  Exact warp_sum(std::vector<Exact> lanes) const;  // [32], butterfly xor 16, 8, 4, 2, 1

 private:
  bool in_f32_;
  sfu::Unit unit_;
};

// One run of a contract and what it meets on the way.
class ContractRun {
 public:
  struct Partition {
    std::size_t p;
    Exact weight;
    Exact partial_sum;
  };

  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  ContractRun(std::size_t steps_in_f32, const sfu::Unit& unit) : steps_in_f32_(steps_in_f32), unit_(unit) {}

  // The next step of the contract, in the order in which exactness gives way to f32: it uses no result of a later one.
  Step step(std::string name) {
    step_names_.push_back(std::move(name));
    return {step_names_.size() <= steps_in_f32_, unit_};
  }
  // An intermediate value, and what a partition brings to the sum.
  void value(std::string name, const Exact& value) { values_.emplace_back(std::move(name), value); }
  void partition(std::size_t p, const Exact& weight, const Exact& partial_sum) {
    partitions_.push_back({p, weight, partial_sum});
  }

  const std::vector<std::string>& step_names() const { return step_names_; }
  const std::vector<std::pair<std::string, Exact>>& values() const { return values_; }
  const std::vector<Partition>& partitions() const { return partitions_; }

 private:
  std::size_t steps_in_f32_;
  sfu::Unit unit_;
  std::vector<std::string> step_names_;
  std::vector<std::pair<std::string, Exact>> values_;
  std::vector<Partition> partitions_;
};

}  // namespace lsecheck
