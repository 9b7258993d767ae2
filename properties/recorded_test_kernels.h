#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/sfu/sfu.h"
#include "properties/recorded_check.h"
#include "properties/safetensors.h"

// Correct combines of each class, and recordings of them: for the tests of `check`.
namespace lsecheck::recorded_test {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2 = 0x1.62e43p-1f;

// ---- Straightforward combines of one element, in f32 with every freedom the classes leave.

struct Freedom {
  ExponentBase base = ExponentBase::log2;
  DType intermediate = DType::f32;
  sfu::Unit unit{};
  bool fused = false;          // fma where possible
  bool through_lse = false;    // normalise through the LSE, not by division
  bool convert_first = false;  // natural: multiply LSEs by log2e before use
  bool fma_exponent = false;   // natural: ex2(fma(x, log2e, -(m log2e)))

  bool natural() const { return base == ExponentBase::natural; }
  float store(float x) const {
    return static_cast<float>(decode(intermediate, round_to_nearest_even(intermediate, x)));
  }
  float ex2(float x) const { return sfu::ex2_approx_ftz(unit, x); }
  // exp or exp2 of x - m.
  float exp_of_difference(float x, float m) const {
    if (!natural()) return ex2(x - m);
    if (fma_exponent) return ex2(std::fma(x, kLog2E, -(m * kLog2E)));
    return ex2((x - m) * kLog2E);
  }
  float log(float s) const { return natural() ? sfu::lg2_approx(unit, s) * kLn2 : sfu::lg2_approx(unit, s); }
  float multiply_add(float a, float b, float c) const {
    return fused ? store(std::fma(a, b, c)) : store(store(a * b) + c);
  }
};

struct Combined {
  float out = 0;
  float lse = -kInf;
};

using Values = std::vector<float>;

// Natural LSEs in log2 units when the kernel converts first; then it is a log2 kernel.
inline Combined in_its_units(const Freedom& freedom, Values lse,
                             const std::function<Combined(const Freedom&, const Values&)>& f) {
  if (!freedom.natural() || !freedom.convert_first) return f(freedom, lse);
  Freedom log2 = freedom;
  log2.base = ExponentBase::log2;
  for (float& x : lse) x *= kLog2E;
  Combined result = f(log2, lse);
  result.lse *= kLn2;
  return result;
}

inline Combined flat(const Freedom& freedom, const Values& lse, const Values& o) {
  float m = -kInf;
  for (const float x : lse) m = std::max(m, x);
  if (m == -kInf) return {};
  float s = 0;
  for (const float x : lse) s = freedom.store(s + freedom.store(freedom.exp_of_difference(x, m)));
  const float g = freedom.log(s) + m;
  float acc = 0;
  for (std::size_t p = 0; p < lse.size(); ++p) {
    const float w = freedom.store(freedom.exp_of_difference(lse[p], freedom.through_lse ? g : m));
    if (w != 0) acc = freedom.multiply_add(w, o[p], acc);
  }
  return {freedom.through_lse ? acc : acc * sfu::rcp_approx_ftz(freedom.unit, s), g};
}

inline Combined online(const Freedom& freedom, const Values& lse, const Values& o) {
  float m = -kInf, l = 0, acc = 0;
  for (std::size_t p = 0; p < lse.size(); ++p) {
    if (lse[p] == -kInf) continue;
    const float next = std::max(m, lse[p]);
    const float r = m == -kInf ? 0.0f : freedom.exp_of_difference(m, next);
    const float e = freedom.exp_of_difference(lse[p], next);
    l = freedom.multiply_add(l, r, e);
    acc = freedom.multiply_add(acc, r, freedom.store(e * o[p]));
    m = next;
  }
  if (m == -kInf) return {};
  const float g = freedom.log(l) + m;
  return {freedom.through_lse ? acc * freedom.exp_of_difference(m, g) : acc / l, g};
}

// A random binary tree: neighbours are merged at random places until one is left.
inline Combined pairwise(const Freedom& freedom, const Values& lse, const Values& o, std::mt19937_64& random) {
  std::vector<Combined> nodes;
  for (std::size_t p = 0; p < lse.size(); ++p) nodes.push_back({lse[p] == -kInf ? 0 : o[p], lse[p]});
  while (nodes.size() > 1) {
    const std::size_t i = random() % 3 == 0 ? random() % (nodes.size() - 1) : 0;  // often a fold: the deepest tree
    const Combined a = nodes[i], b = nodes[i + 1];
    const float m = std::max(a.lse, b.lse);
    if (m != -kInf) {
      float wa = freedom.exp_of_difference(a.lse, m), wb = freedom.exp_of_difference(b.lse, m);
      const float s = wa + wb;
      const float g = freedom.store(freedom.log(s) + m);
      if (freedom.through_lse) {
        wa = freedom.exp_of_difference(a.lse, g);
        wb = freedom.exp_of_difference(b.lse, g);
      } else {
        wa /= s;
        wb /= s;
      }
      nodes[i] = {freedom.store(freedom.fused ? std::fma(wa, a.out, wb * b.out) : wa * a.out + wb * b.out), g};
    }
    nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return nodes[0];
}

// ---- Recorded files.

struct Recording {
  std::size_t num_partitions = 0, rows_heads = 0, depth = 0;
  DType partial = DType::f32, out_type = DType::f32;
  Values lse, o, out, out_lse;  // [P, rows_heads], [P, rows_heads, D], [rows_heads, D], [rows_heads]

  Values row_lse(std::size_t rh) const {
    Values row;
    for (std::size_t p = 0; p < num_partitions; ++p) row.push_back(lse[p * rows_heads + rh]);
    return row;
  }
  Values column(std::size_t rh, std::size_t d) const {
    Values column;
    for (std::size_t p = 0; p < num_partitions; ++p) column.push_back(o[(p * rows_heads + rh) * depth + d]);
    return column;
  }
};

inline std::vector<std::byte> encode(DType type, const Values& values) {
  std::vector<std::byte> bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = round_to_nearest_even(type, values[i]);
    std::memcpy(bytes.data() + i * size_of(type), &bits, size_of(type));
  }
  return bytes;
}

inline std::string write_recording(const Recording& recording) {
  std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::replace(name.begin(), name.end(), '/', '_');
  std::string path = ::testing::TempDir() + "lsecheck_recorded_" + name + std::to_string(::getpid()) + ".safetensors";
  const auto [P, R, D] = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>(recording.num_partitions,
                                                                                 recording.rows_heads, recording.depth);
  const auto lse = encode(DType::f32, recording.lse);
  const auto o = encode(recording.partial, recording.o);
  const auto out = encode(recording.out_type, recording.out);
  const auto out_lse = encode(DType::f32, recording.out_lse);
  std::vector<SafetensorsEntry> entries{{"lse_partial", DType::f32, {P, R}, lse},
                                        {"o_partial", recording.partial, {P, R, D}, o},
                                        {"out", recording.out_type, {R, D}, out}};
  if (!recording.out_lse.empty()) entries.push_back({"out_lse", DType::f32, {R}, out_lse});
  write_safetensors(path, entries, {});
  return path;
}

inline CheckReport check(const Recording& recording, const ErrorModel& model) {
  const std::string path = write_recording(recording);
  const SafetensorsFile file = read_safetensors(path, 1 << 26);
  std::remove(path.c_str());
  const auto reference = make_exact_reference();
  return check_recorded(recorded_tensors(file), model, *reference);
}

inline std::string describe(const CheckReport& report) {
  if (report.worst.empty()) return "clean";
  const Finding& worst = report.worst.front();
  std::string text = std::to_string(report.failing_elements) + " fail; worst " + std::string(name_of(worst.kind)) +
                     (worst.is_lse ? " lse" : "") + " row " + std::to_string(worst.row_head) + " got " +
                     std::to_string(worst.got) + " exact " + std::to_string(worst.exact) + " use " +
                     std::to_string(worst.bound_use);
  for (const Cause& cause : report.causes) text += "\n" + std::to_string(cause.rows_fit) + " " + cause.text;
  return text;
}

inline double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

// LSEs of every size and spread, empty partitions with garbage under them; row rh takes regime rh % 8.
inline Recording random_inputs(std::mt19937_64& random, std::size_t num_partitions, std::size_t rows_heads,
                               DType partial) {
  Recording recording{.num_partitions = num_partitions,
                      .rows_heads = rows_heads,
                      .depth = 6,
                      .partial = partial,
                      .lse = {},
                      .o = {},
                      .out = {},
                      .out_lse = {}};
  constexpr double kCentre[] = {0, 12, -300, 1e4, -1e6, 50, 0, 3e7};
  constexpr double kSpread[] = {3, 30, 5, 4, 8, 400, 140, 0};
  recording.lse.resize(num_partitions * rows_heads);
  for (std::size_t i = 0; i < recording.lse.size(); ++i) {
    const std::size_t regime = i % rows_heads % 8;
    const bool empty = i / rows_heads != 0 && random() % 5 == 0;
    recording.lse[i] = empty ? -kInf : static_cast<float>(kCentre[regime] + kSpread[regime] * (uniform(random) - 0.5));
  }
  for (const float lse : recording.lse) {
    for (std::size_t d = 0; d < recording.depth; ++d) {
      double value = 2 * uniform(random) - 1;
      if (d == 1) value = 1;                      // the sum of the weights
      if (d == 2) value = random() % 2 ? 1 : -1;  // cancelling
      if (d == 3) value *= 1e-3;
      if (d == 4) value *= 0x1p-30;  // f16: below its normal numbers
      if (lse == -kInf) value = random() % 2 ? kNaN : kInf;
      recording.o.push_back(static_cast<float>(decode(partial, round_to_nearest_even(partial, value))));
    }
  }
  return recording;
}

inline void combine_all(Recording& recording, const Freedom& freedom, CombineClass combine, std::mt19937_64& random) {
  recording.out.clear();
  recording.out_lse.clear();
  for (std::size_t rh = 0; rh < recording.rows_heads; ++rh) {
    const Values lse = recording.row_lse(rh);
    std::vector<std::size_t> order(lse.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (rh % 3 == 1) std::sort(order.begin(), order.end(), [&](auto p, auto q) { return lse[p] < lse[q]; });
    if (rh % 3 == 2) std::reverse(order.begin(), order.end());
    const auto permuted = [&](const Values& values) {
      Values result;
      for (const std::size_t p : order) result.push_back(values[p]);
      return result;
    };
    Combined combined;
    const std::uint64_t tree = random();
    for (std::size_t d = 0; d < recording.depth; ++d) {
      const Values o = permuted(recording.column(rh, d));
      combined = in_its_units(freedom, permuted(lse), [&](const Freedom& its, const Values& x) {
        std::mt19937_64 same_tree(tree);
        if (combine == CombineClass::flat) return flat(its, x, o);
        if (combine == CombineClass::online) return online(its, x, o);
        return pairwise(its, x, o, same_tree);
      });
      recording.out.push_back(combined.out);
    }
    recording.out_lse.push_back(combined.lse);
  }
}

}  // namespace lsecheck::recorded_test
