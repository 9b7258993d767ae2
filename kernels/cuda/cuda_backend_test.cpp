#include "kernels/cuda/cuda_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cuda/sfu_sweep.h"
#include "kernels/sm100/fa4_combine_kernel.h"
#include "kernels/sm100/fa4_instances.h"

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
  expect_unavailable([] { launch_fa4({}, {}, {}); });
  expect_unavailable([] { measure_digests(sfu::Instruction::lg2_approx); });
  expect_unavailable([] { measure_block(sfu::Instruction::lg2_approx, 127); });
  // The registered kernel passes the backend on.
  ExecutionOptions options;
  options.backend = Backend::cuda;
  expect_unavailable([&] { sm100::fa4_combine_kernel().launch({}, {"runtime", 0}, {}, options); });
}

TEST(CudaInstances, TheFlatListIsTheHostsTable) {
  std::vector<sm100::Fa4Entry> host;
  for (const sm100::Fa4Instance& instance : sm100::fa4_instances()) {
    host.push_back({instance.out, instance.partial, instance.ov_depth, instance.p_static});
  }
  EXPECT_THAT(host, ::testing::UnorderedElementsAreArray(sm100::kFa4Entries));
}

TEST(CudaInstances, TheFatBinaryHoldsTheWholeTableOnce) {
  const std::vector<sm100::Fa4Entry> compiled = fa4_entries();
  if (compiled.empty() && availability().reason.find("this build has no CUDA kernels") != std::string::npos) {
    GTEST_SKIP() << availability().reason;
  }
  EXPECT_THAT(compiled, ::testing::ElementsAreArray(sm100::kFa4Entries));
}

}  // namespace
}  // namespace lsecheck::cuda
