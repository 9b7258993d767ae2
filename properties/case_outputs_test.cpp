#include "properties/case_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "kernels/registry.h"
#include "properties/case_draw.h"
#include "properties/case_expand.h"
#include "properties/run_case.h"
#include "properties/tensor_edits.h"
#include "properties/test_broken_kernel.h"

namespace lsecheck {
namespace {

TEST(CaseOutputs, ReadBackAsTheyWereWritten) {
  for (std::uint64_t i = 0; i < 16; ++i) {
    const CaseTensors tensors = bucketed(expand(draw_spec(1, i, {})));
    const CaseOutput output = output_of(tensors, i, "lse1-abc");
    EXPECT_EQ(output.fault, "");
    EXPECT_EQ(output.out_bits, run_kernel(tensors).out_bits);
    EXPECT_EQ(parse_output(format_output(output, tensors.spec.out), tensors.spec.out), output);
  }
  const CaseOutput lost{7, "lse1-abc", "rung", {}, "block (0,0,0): stores outside"};
  EXPECT_EQ(parse_output(format_output(lost, DType::f32), DType::f32), lost);
  const OutputsHeader header{3, "0.1.0", "0123456789ab-dirty", "fa4_splitk_combine,mla_combine"};
  EXPECT_EQ(parse_header(format_header(header)), header);
}

TEST(CaseOutputs, AKernelThatThrowsIsAFaultOfOneLine) {
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"),
                            [](const CombineShape&) { throw std::runtime_error("two\nlines"); });
  const KernelInPlace in_place(broken);
  DrawLimits limits;
  limits.kernels = {KernelId::mha_splitk_reduce};
  const CaseOutput output = output_of(bucketed(expand(draw_spec(1, 0, limits))), 0, "-");
  EXPECT_EQ(output.fault, "two lines");
}

// The kernel may have leaked all of it: what is left is for the process to tell.
TEST(CaseOutputs, MissingMemoryIsNoFaultOfOneCase) {
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), [](const CombineShape&) { throw std::bad_alloc(); });
  const KernelInPlace in_place(broken);
  DrawLimits limits;
  limits.kernels = {KernelId::mha_splitk_reduce};
  EXPECT_THROW(output_of(bucketed(expand(draw_spec(1, 0, limits))), 0, "-"), std::bad_alloc);
}

TEST(CaseOutputs, ALaunchedSpecIsThatOfTheLaunchedTensors) {
  int larger = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const CaseSpec spec = draw_spec(1, i, {});
    if (spec.selection != Selection::over_bucketed) {
      EXPECT_EQ(bucketed(spec), spec);
      continue;
    }
    EXPECT_EQ(bucketed(spec), bucketed(expand(spec)).spec);
    EXPECT_GT(bucketed(spec).num_partitions, spec.num_partitions);
    ++larger;
  }
  EXPECT_GT(larger, 0);
}

TEST(CaseOutputs, OtherLinesAreNone) {
  for (const char* line : {"", "end 3", "lsecheck 0.1.0", "3 token rung", "3 token rung 3f8", "3 token rung 3f80000g",
                           "x token rung 3f800000"}) {
    EXPECT_EQ(parse_output(line, DType::f32), std::nullopt) << line;
  }
  for (const char* line : {"", "lsecheck-outputs 1", "lsecheck-outputs 2 generator=3 version=a commit=b kernels=c",
                           "lsecheck-outputs 1 generator=x version=a commit=b kernels=c",
                           "lsecheck-outputs 1 generator=3 commit=b kernels=c"}) {
    EXPECT_EQ(parse_header(line), std::nullopt) << line;
  }
}

}  // namespace
}  // namespace lsecheck
