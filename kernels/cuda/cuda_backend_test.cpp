#include "kernels/cuda/cuda_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cuda/fa4_entry.h"
#include "kernels/cuda/fa4_ws_entry.h"
#include "kernels/cuda/mha_entry.h"
#include "kernels/cuda/mla_entry.h"
#include "kernels/cuda/sfu_sweep.h"
#include "kernels/sm100/fa4_combine_kernel.h"
#include "kernels/sm100/fa4_instances.h"
#include "kernels/sm100/fa4_ws_instances.h"
#include "kernels/sm100/mha_instances.h"
#include "kernels/sm100/mla_combine_kernel.h"
#include "kernels/sm100/mla_instances.h"

// What holds on every machine, with and without nvcc, with and without a GPU.
namespace lsecheck::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(CudaAvailability, IsADeviceOrOneLineThatSaysWhyNot) {
  const Availability& found = availability();
  if (found.device) {
    EXPECT_THAT(describe(*found.device), HasSubstr(found.device->name + " (compute capability "));
    return;
  }
  EXPECT_THAT(found.reason, AllOf(Not(IsEmpty()), Not(HasSubstr("\n"))));
}

TEST(CudaAvailability, EveryCallWithoutADeviceEndsWithTheReason) {
  if (availability().device) GTEST_SKIP() << "there is a usable device: " << describe(*availability().device);
  const auto expect_unavailable = [](const auto& call) {
    try {
      call();
      ADD_FAILURE() << "ran without a device";
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.kind(), DeviceError::Kind::unavailable);
      EXPECT_EQ(std::string(error.what()), availability().reason);
    }
  };
  expect_unavailable([] { launch("fa4_splitk_combine", {}, {}, {}); });
  expect_unavailable([] { measure_digests(sfu::Instruction::lg2_approx); });
  expect_unavailable([] { measure_block(sfu::Instruction::lg2_approx, 127); });
  // The registered kernels pass the backend on.
  ExecutionOptions options;
  options.backend = Backend::cuda;
  expect_unavailable([&] { sm100::fa4_combine_kernel().launch({}, {"runtime", 0}, {}, options); });
  const CombineShape one_row{Arch::sm_90, 2, 1, 1, 512, DType::bf16, DType::bf16};
  for (const CombineKernel* kernel : {&sm100::mla_combine_kernel(), &sm100::mla_combine_split_parallel_kernel()}) {
    for (const KernelVariant& variant : kernel->variants(one_row)) {
      const std::vector<std::byte> lse(2 * 4);
      const std::vector<std::byte> o(2 * 512 * 2);
      std::vector<std::byte> output(512 * 2);
      expect_unavailable([&] { kernel->launch(one_row, variant, {lse, o, output}, options); });
    }
  }
}

TEST(CudaInstances, TheFlatListsAreTheHostsTables) {
  std::vector<sm100::Fa4Entry> fa4;
  std::vector<sm100::Fa4FastEntry> fa4_fast;
  for (const sm100::Fa4Instance& instance : sm100::fa4_instances()) {
    if (instance.load_bytes > 0) {
      fa4_fast.push_back({instance.out, instance.partial, instance.ov_depth, instance.load_bytes});
    } else {
      fa4.push_back({instance.out, instance.partial, instance.ov_depth, instance.p_static});
    }
  }
  EXPECT_THAT(fa4, ::testing::UnorderedElementsAreArray(sm100::kFa4Entries));
  EXPECT_THAT(fa4_fast, ::testing::UnorderedElementsAreArray(sm100::kFa4FastEntries));
  std::vector<sm100::MlaEntry> mla;
  for (const sm100::MlaInstance& instance : sm100::mla_instances()) {
    mla.push_back({instance.type, instance.head_dim, instance.num_splits, instance.warps_per_head});
  }
  EXPECT_THAT(mla, ::testing::UnorderedElementsAreArray(sm100::kMlaEntries));
  std::vector<sm100::MhaEntry> mha;
  for (const sm100::MhaInstance& instance : sm100::mha_instances()) {
    mha.push_back({instance.out, instance.partial, instance.ov_depth, instance.natural});
  }
  EXPECT_THAT(mha, ::testing::UnorderedElementsAreArray(sm100::kMhaEntries));
  std::vector<sm100::Fa4WsEntry> fa4_ws;
  for (const sm100::Fa4WsInstance& instance : sm100::fa4_ws_instances()) {
    fa4_ws.push_back({instance.level, instance.out, instance.ov_depth, instance.m_pack, instance.num_partitions});
  }
  EXPECT_THAT(fa4_ws, ::testing::UnorderedElementsAreArray(sm100::kFa4WsEntries));
}

TEST(CudaInstances, TheFatBinaryHoldsEveryEntryOnce) {
  const std::vector<std::string> compiled = compiled_kernels();
  if (compiled.empty() && availability().reason.find("this build has no CUDA kernels") != std::string::npos) {
    GTEST_SKIP() << availability().reason;
  }
  std::vector<std::string> expected;
  expected.reserve(compiled.size());
  for (const sm100::Fa4Entry& entry : sm100::kFa4Entries) expected.push_back(template_id(entry));
  for (const sm100::Fa4FastEntry& entry : sm100::kFa4FastEntries) expected.push_back(template_id(entry));
  for (const sm100::MlaEntry& entry : sm100::kMlaEntries) expected.push_back(template_id(entry));
  for (const sm100::MhaEntry& entry : sm100::kMhaEntries) expected.push_back(template_id(entry));
  for (const sm100::Fa4WsEntry& entry : sm100::kFa4WsEntries) expected.push_back(template_id(entry));
  EXPECT_THAT(compiled, ::testing::UnorderedElementsAreArray(expected));
}

}  // namespace
}  // namespace lsecheck::cuda
