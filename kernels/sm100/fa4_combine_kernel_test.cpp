#include "kernels/sm100/fa4_combine_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/dispatch/fa4_dispatch.h"
#include "kernels/sm100/fa4_instantiation_table.h"
#include "kernels/sm100/test_combine.h"

namespace lsecheck::sm100 {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

CombineShape shape_of(int num_partitions, std::uint32_t rows = 1, std::uint32_t heads = 1) {
  CombineShape shape;
  shape.num_partitions = num_partitions;
  shape.rows = rows;
  shape.heads = heads;
  shape.ov_depth = 128;
  return shape;
}

std::string refusal(const CombineShape& shape) {
  const auto line = fa4_combine_kernel().refuse(shape);
  EXPECT_TRUE(line.has_value()) << "was not refused";
  EXPECT_EQ(line.value_or("").find('\n'), std::string::npos) << "more than one line";
  return line.value_or("");
}

TEST(Fa4CombineKernel, RefusesPartitionCountsOutsideItsArrays) {
  for (const int p : {0, -1, 161, 1 << 30}) {
    EXPECT_THAT(refusal(shape_of(p)),
                AllOf(HasSubstr("num_partitions = " + std::to_string(p)), HasSubstr("takes 1 to 160")));
  }
  for (const int p : {1, 160}) EXPECT_EQ(fa4_combine_kernel().refuse(shape_of(p)), std::nullopt) << p;
  EXPECT_EQ(fa4_combine_kernel().p_max(), 160);
}

TEST(Fa4CombineKernel, RefusesDepthsItIsNotCompiledFor) {
  for (const int depth : {100, 0, -64, 1024}) {
    CombineShape shape = shape_of(8);
    shape.ov_depth = depth;
    EXPECT_THAT(refusal(shape), AllOf(HasSubstr("ov_depth = " + std::to_string(depth)),
                                      HasSubstr("64, 72, 80, 96, 128, 160, 192, 224, 256, 512")));
  }
}

TEST(Fa4CombineKernel, RefusesTypePairsItIsNotCompiledFor) {
  const auto compiled = [](DType out, DType partial) {
    return std::any_of(kTypePairs.begin(), kTypePairs.end(),
                       [&](const TypePair& pair) { return pair.out == out && pair.partial == partial; });
  };
  for (const DType out : {DType::bf16, DType::f16, DType::f32}) {
    for (const DType partial : {DType::bf16, DType::f16, DType::f32}) {
      CombineShape shape = shape_of(8);
      shape.out = out;
      shape.partial = partial;
      EXPECT_EQ(fa4_combine_kernel().supports_types(out, partial), compiled(out, partial));
      if (compiled(out, partial)) {
        EXPECT_EQ(fa4_combine_kernel().refuse(shape), std::nullopt);
        continue;
      }
      EXPECT_THAT(refusal(shape),
                  AllOf(HasSubstr("partials " + std::string(name_of(partial))),
                        HasSubstr("output " + std::string(name_of(out))), HasSubstr("in the output type or in f32")));
    }
  }
}

TEST(Fa4CombineKernel, RefusesGridsThatCannotBeLaunched) {
  EXPECT_THAT(refusal(shape_of(8, 0, 16)), AllOf(HasSubstr("rows * heads = 0"), HasSubstr("1 to 2147483647")));
  EXPECT_THAT(refusal(shape_of(8, 16, 0)), HasSubstr("rows * heads = 0"));
  EXPECT_THAT(refusal(shape_of(8, 65536, 32768)),
              AllOf(HasSubstr("rows * heads = 2147483648"), HasSubstr("1 to 2147483647")));
  // The product is not taken modulo 2^32.
  EXPECT_THAT(refusal(shape_of(8, 0xffffffffU, 0xffffffffU)), HasSubstr("rows * heads = 18446744065119617025"));
  EXPECT_EQ(fa4_combine_kernel().refuse(shape_of(8, 2147483647, 1)), std::nullopt);
}

// Without the fast ones.
std::vector<KernelVariant> in_contract_shape(const CombineShape& shape) {
  auto variants = fa4_combine_kernel().variants(shape);
  std::erase_if(variants, [](const KernelVariant& variant) { return variant.load_bytes > 0; });
  return variants;
}

TEST(Fa4CombineKernel, VectorDepthsHaveFastVariantsBesides) {
  for (const int depth : kFa4Depths) {
    for (const TypePair& types : kTypePairs) {
      std::vector<int> load_bytes;
      for (const auto& variant :
           fa4_combine_kernel().variants({Arch::sm_90, 37, 1, 1, depth, types.out, types.partial})) {
        if (variant.load_bytes > 0) load_bytes.push_back(variant.load_bytes);
      }
      const bool vectors = depth == 64 || depth == 128 || depth == 256 || depth == 512;
      EXPECT_EQ(load_bytes, vectors ? std::vector<int>({16, 4}) : std::vector<int>()) << "depth " << depth;
    }
  }
}

TEST(Fa4CombineKernel, ProductionHasARungKernelExactlyOnTheChipsLadder) {
  for (const Arch arch : kAllArchs) {
    const auto ladder = splitk_p_ladder(sm_count_of(arch));
    for (const DType type : {DType::bf16, DType::f16}) {
      for (const int depth : {64, 128, 256, 512}) {
        for (int p = 1; p <= 160; ++p) {
          const auto variants = in_contract_shape({arch, p, 1, 1, depth, type, type});
          const bool rung = std::find(ladder.begin(), ladder.end(), p) != ladder.end();
          ASSERT_EQ(variants.size(), rung ? 2U : 1U) << name_of(arch) << " P " << p << " depth " << depth;
          if (rung) {
            EXPECT_EQ(variants.front().name, "rung");
            EXPECT_EQ(variants.front().p_static, p);
          }
          EXPECT_EQ(variants.back().name, "runtime");
          EXPECT_EQ(variants.back().p_static, 0);
        }
      }
    }
  }
}

TEST(Fa4CombineKernel, EverythingElseHasFourRungs) {
  for (const Arch arch : kAllArchs) {
    for (const TypePair& types : kTypePairs) {
      for (const int depth : kFa4Depths) {
        if (fa4_is_production(types.out, types.partial, depth)) continue;
        std::vector<int> rungs;
        for (int p = 1; p <= 160; ++p) {
          const auto variants = in_contract_shape({arch, p, 1, 1, depth, types.out, types.partial});
          EXPECT_EQ(variants.back().name, "runtime");
          if (variants.size() == 2) rungs.push_back(variants.front().p_static);
        }
        EXPECT_THAT(rungs, ::testing::ElementsAre(8, 32, 64, 96));
      }
    }
  }
}

}  // namespace
}  // namespace lsecheck::sm100
