#include "properties/case_expand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "properties/case_draw.h"
#include "properties/case_limits.h"
#include "properties/expanded_rows.h"
#include "properties/tensor_edits.h"

namespace lsecheck {
namespace {

using namespace expanded;

TEST(CaseExpand, ShapesFollowTheSpec) {
  const CaseTensors tensors = expand(base_spec());
  EXPECT_EQ(tensors.spec, base_spec());
  EXPECT_EQ(tensors.lse_partial.size(), 37u * 18u);
  EXPECT_EQ(tensors.o_partial.size(), 37u * 18u * 64u);
}

TEST(CaseExpand, IsAPureFunction) {
  for (std::uint64_t i = 0; i < 60; ++i) {
    const CaseSpec spec = draw_spec(1, i, {});
    const CaseTensors a = expand(spec), b = expand(spec);
    EXPECT_TRUE(same_bits(a.lse_partial, b.lse_partial));
    EXPECT_EQ(a.o_partial, b.o_partial);
  }
}

std::uint64_t digest_of_cases(const DrawLimits& limits) {
  std::uint64_t digest = 0xcbf29ce484222325;  // FNV-1a over 32-bit words
  const auto add = [&](std::uint32_t word) { digest = (digest ^ word) * 0x100000001b3; };
  for (std::uint64_t i = 0; i < 120; ++i) {
    const CaseTensors tensors = expand(draw_spec(1, i, limits));
    for (const float x : tensors.lse_partial) add(std::bit_cast<std::uint32_t>(x));
    for (const float x : tensors.mass_partial) add(std::bit_cast<std::uint32_t>(x));
    for (const float x : tensors.attention_sink) add(std::bit_cast<std::uint32_t>(x));
    for (const std::uint32_t bits : tensors.o_partial) add(bits);
  }
  return digest;
}

// The bits of a fixed set of cases: a change here needs a new kGeneratorVersion.
TEST(CaseExpand, BitsArePinned) {
  EXPECT_EQ(digest_of_cases({.kernels = {KernelId::fa4_splitk_combine}}), 8134032522448653391u);
  EXPECT_EQ(digest_of_cases({.kernels = {KernelId::mla_combine}}), 16378030278451284795u);
  EXPECT_EQ(digest_of_cases({.kernels = {KernelId::mla_combine_split_parallel}}), 12583561249381881696u);
  EXPECT_EQ(digest_of_cases({.kernels = {KernelId::mha_splitk_reduce}}), 19462733009803400u);
}

TEST(CaseExpand, ARowDoesNotDependOnTheNumberOfRows) {
  for (int regime = 0; regime < kLseRegimeCount; ++regime) {
    CaseSpec spec = base_spec();
    spec.lse = static_cast<LseRegime>(regime);
    spec.values = uses_attention(spec) ? ValueRegime::attention : ValueRegime::cancelling;
    spec.empties = EmptyPattern::mixed_rows;
    const CaseTensors many = expand(spec);
    spec.rows = 2;
    const CaseTensors few = expand(spec);
    for (std::size_t rh = 0; rh < spec.rows_heads(); ++rh) {
      EXPECT_TRUE(same_bits(row_lse(many, rh), row_lse(few, rh))) << name_of(spec.lse);
      for (std::size_t p = 0; p < spec.num_partitions; ++p) {
        for (std::size_t d = 0; d < spec.ov_depth; ++d) {
          ASSERT_EQ(many.o_partial[many.o_index(p, rh, d)], few.o_partial[few.o_index(p, rh, d)]);
        }
      }
    }
  }
}

TEST(CaseExpand, SinksFollowTheirKindAndTheHead) {
  CaseSpec spec;
  spec.kernel = KernelId::mla_combine;
  spec.num_partitions = 37;
  spec.rows = 3;
  spec.heads = 5;
  spec.ov_depth = 512;
  EXPECT_TRUE(expand(spec).attention_sink.empty());
  spec.sink = SinkKind::minus_infinity;
  EXPECT_EQ(expand(spec).attention_sink, std::vector<float>(5, -kInfinity));
  spec.sink = SinkKind::finite;
  bool near = false;
  for (spec.seed = 0; spec.seed < 20; ++spec.seed) {
    const CaseTensors tensors = expand(spec);
    ASSERT_EQ(tensors.attention_sink.size(), 5u);
    for (std::size_t head = 0; head < 5; ++head) {
      EXPECT_TRUE(std::isfinite(tensors.attention_sink[head]));
      near = near || std::fabs(tensors.attention_sink[head] / 0.6931F - largest(row_lse(tensors, head))) < 4;
    }
    CaseSpec fewer = spec;
    fewer.rows = 1;
    EXPECT_TRUE(same_bits(expand(fewer).attention_sink, tensors.attention_sink)) << "rows do not change a head's sink";
  }
  EXPECT_TRUE(near);
}

TEST(CaseExpand, OnlyPolicyHoldsNanOrPlusInfLses) {
  for (std::uint64_t i = 0; i < 300; ++i) {
    const CaseSpec spec = draw_spec(2, i, {});
    if (spec.lse == LseRegime::policy) continue;
    for (const float x : expand(spec).lse_partial) ASSERT_TRUE(std::isfinite(x) || empty(x)) << name_of(spec.lse);
  }
}

TEST(CaseExpand, OnlyNonfiniteHoldsNanOrInfValuesOutsideEmptyPartitions) {
  for (std::uint64_t i = 0; i < 300; ++i) {
    const CaseSpec spec = draw_spec(2, i, {});
    const CaseTensors tensors = expand(spec);
    std::size_t nonfinite = 0;
    for (std::size_t k = 0; k < tensors.o_partial.size(); ++k) {
      if (!is_empty(tensors, k / spec.ov_depth) && !is_finite(spec.partial, tensors.o_partial[k])) ++nonfinite;
    }
    bool some_present = false;
    for (std::size_t pair = 0; pair < tensors.lse_partial.size(); ++pair) {
      some_present = some_present || !is_empty(tensors, pair);
    }
    EXPECT_EQ(nonfinite > 0, spec.values == ValueRegime::nonfinite && some_present) << name_of(spec.values);
  }
}

std::string refusal(CaseSpec spec) {
  try {
    expand(spec);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CaseExpand, BadSpecsAreRefusedByName) {
  const auto with = [](auto change) {
    CaseSpec spec;
    change(spec);
    return refusal(spec);
  };
  EXPECT_EQ(with([](CaseSpec& s) { s.num_partitions = 161; }), "num_partitions 161 is outside 1..160");
  EXPECT_EQ(with([](CaseSpec& s) { s.heads = 0; }), "heads is 0; it must be at least 1");
  EXPECT_EQ(with([](CaseSpec& s) { s.ov_depth = 100; }),
            "ov_depth 100 has no kernel; use one of 64 72 80 96 128 160 192 224 256 512");
  EXPECT_EQ(with([](CaseSpec& s) { s.rows = 0xffffffff; }),
            "rows * heads 4294967295 is too large for one case; at most 262144 at this num_partitions and ov_depth");
  EXPECT_EQ(with([](CaseSpec& s) { s.out = DType::f32; }), "partial type bf16 does not go with out type f32; use f32");
  EXPECT_EQ(with([](CaseSpec& s) { s.sink = SinkKind::finite; }),
            "sink finite does not go with kernel fa4_splitk_combine, which takes none");
  const auto mla = [](auto change) {
    CaseSpec spec;
    spec.kernel = KernelId::mla_combine;
    spec.ov_depth = 512;
    change(spec);
    return refusal(spec);
  };
  EXPECT_EQ(mla([](CaseSpec&) {}), "accepted");
  EXPECT_EQ(mla([](CaseSpec& s) { s.num_partitions = 5; }),
            "num_partitions 5 has no mla_combine kernel on sm_100a for these types and ov_depth; use one of 2 3 4 8 9 "
            "16 18 20 "
            "32 37 64 72 74");
  EXPECT_EQ(mla([](CaseSpec& s) { s.ov_depth = 128; }), "ov_depth 128 has no kernel; use one of 256 512");
  EXPECT_EQ(mla([](CaseSpec& s) { s.partial = DType::f32; }),
            "partial type f32 does not go with out type bf16; use bf16");
  const auto mha = [](auto change) {
    CaseSpec spec;
    spec.kernel = KernelId::mha_splitk_reduce;
    change(spec);
    return refusal(spec);
  };
  EXPECT_EQ(mha([](CaseSpec& s) { s.mass = MassRegime::tiny; }), "accepted");
  EXPECT_EQ(mha([](CaseSpec& s) { s.num_partitions = 33; }), "num_partitions 33 is outside 1..32");
  EXPECT_EQ(mha([](CaseSpec& s) { s.exponent = ExponentForm::scaled; }),
            "exponent scaled does not go with kernel mha_splitk_reduce, which reads log2 natural");
  EXPECT_EQ(mha([](CaseSpec& s) { s.selection = Selection::alternative; }),
            "selection alternative does not go with kernel mha_splitk_reduce: it has one variant");
  EXPECT_EQ(mha([](CaseSpec& s) {
              s.lse = LseRegime::attention;
              s.mass = MassRegime::counts;
            }),
            "attention determines the masses, so it does not go with mass counts");
  EXPECT_EQ(mla([](CaseSpec& s) { s.selection = Selection::runtime_p; }),
            "selection runtime_p does not go with kernel mla_combine: it has no runtime-P variant");
  EXPECT_EQ(mla([](CaseSpec& s) { s.selection = Selection::over_bucketed; }),
            "num_partitions 2 has no split bucket above it on sm_100a that mla_combine is compiled for; use selection "
            "production at a bucket");
}

}  // namespace
}  // namespace lsecheck
