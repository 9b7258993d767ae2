#include "kernels/simt/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <numeric>

#include "kernels/sm100/warp_reduce.cuh"
#include "kernels/target.cuh"

// Every check of the executor is shown to work by a kernel with that fault planted in it.
namespace lsecheck {
namespace {

using simt::Fault;
using simt::FaultKind;
using simt::Launch;
using ::testing::AllOf;
using ::testing::HasSubstr;

Launch one_warp(const char* kernel) {
  Launch launch;
  launch.kernel = kernel;
  launch.block = {32, 1, 1};
  return launch;
}

void expect_fault(const std::optional<Fault>& fault, FaultKind kind, const std::string& text) {
  ASSERT_TRUE(fault.has_value()) << "no fault was reported";
  EXPECT_EQ(fault->kind, kind) << fault->message;
  EXPECT_THAT(fault->message, HasSubstr(text));
}

TEST(SimtCollectives, ShuffleAndButterflySeeEveryLane) {
  std::vector<float> sums(64, -1);
  Launch launch = one_warp("sum");
  launch.block = {64, 1, 1};
  launch.buffers = {{"sums", sums.data(), sums.size() * sizeof(float), true}};
  for (const Schedule schedule : {Schedule::lockstep, Schedule::random}) {
    launch.schedule = schedule;
    const auto fault = simt::run(launch, [&] {
      const float lane_value = static_cast<float>(threadIdx.x);
      const float sum = sm100::warp_sum(lane_value);
      const float third = shuffle(lane_value, 3);
      store_global(&sums[threadIdx.x], sum + 1000 * third);
    });
    ASSERT_FALSE(fault.has_value()) << fault->message;
    for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(sums[i], 496.0F + 3000.0F);
    for (std::size_t i = 32; i < 64; ++i) EXPECT_EQ(sums[i], 1520.0F + 35000.0F);
  }
}

TEST(SimtCollectives, WarpMaxFollowsTheArchitecture) {
  std::vector<float> result(32);
  Launch launch = one_warp("max");
  launch.buffers = {{"result", result.data(), result.size() * sizeof(float), true}};
  for (const Arch arch : kAllArchs) {
    launch.arch = arch;
    const auto fault = simt::run(launch, [&] {
      const float value = threadIdx.x == 7 ? float_from_bits(0x7fc00000U) : static_cast<float>(threadIdx.x);
      store_global(&result[threadIdx.x], sm100::warp_max(value));
    });
    ASSERT_FALSE(fault.has_value()) << fault->message;
    for (const float value : result) {
      if (arch == Arch::sm_100a) {
        EXPECT_TRUE(value != value) << "redux propagates NaN";
      } else {
        EXPECT_EQ(value, 31.0F) << "the butterfly ignores NaN";
      }
    }
  }
}

TEST(SimtFaults, DivergentShuffle) {
  const auto fault = simt::run(one_warp("divergent"), [] {
    if (threadIdx.x < 16) {
      shuffle(1.0F, 0);
    } else {
      shuffle(2.0F, 1);
    }
  });
  expect_fault(fault, FaultKind::divergent_collective,
               "kernel divergent, block (0,0,0), thread 16 at launch_test.cpp:");
}

TEST(SimtFaults, LaneEndsWhileOthersWaitInAShuffle) {
  for (const unsigned missing : {0U, 31U}) {
    const auto fault = simt::run(one_warp("early exit"), [=] {
      if (threadIdx.x == missing) return;
      shuffle(1.0F, 0);
    });
    expect_fault(fault, FaultKind::divergent_collective, "launch_test.cpp:");
  }
}

TEST(SimtFaults, BarrierWithTheWrongCount) {
  Launch launch = one_warp("barrier count");
  launch.block = {128, 1, 1};
  expect_fault(simt::run(launch, [] { block_barrier(1, threadIdx.x < 64 ? 128 : 64); }), FaultKind::barrier_mismatch,
               "barrier 1 for 64 threads, others wait there for 128");
  expect_fault(simt::run(launch, [] { block_barrier(1, 100); }), FaultKind::barrier_mismatch, "multiples of 32");
}

TEST(SimtFaults, BarrierThatNotAllThreadsReach) {
  Launch launch = one_warp("half a barrier");
  launch.block = {256, 1, 1};
  expect_fault(simt::run(launch,
                         [] {
                           if (threadIdx.x < 128) block_barrier(3, 256);
                         }),
               FaultKind::barrier_mismatch,
               "barrier 3 for 256 threads that can never complete: of 256 threads 128 have ended");
}

TEST(SimtFaults, LoadPastTheEndWhoseValueIsUnused) {
  const std::vector<float> input(8, 1.0F);
  Launch launch = one_warp("prefetch");
  launch.buffers = {{"o_partial", const_cast<float*>(input.data()), input.size() * sizeof(float), false}};
  const auto fault = simt::run(launch, [&] { load_global(input.data() + 8); });
  expect_fault(fault, FaultKind::load_out_of_range, "loads 4 bytes at byte 32 of o_partial, which has 32 bytes");
  EXPECT_THAT(fault->message,
              AllOf(HasSubstr("kernel prefetch"), HasSubstr("thread 0"), HasSubstr("launch_test.cpp:")));
}

TEST(SimtFaults, StoresOutsideAndIntoInputs) {
  std::vector<float> buffer(8, 1.0F);
  Launch launch = one_warp("stores");
  launch.buffers = {{"input", buffer.data(), 4 * sizeof(float), false},
                    {"output", buffer.data() + 4, 4 * sizeof(float), true}};
  expect_fault(simt::run(launch, [&] { store_global(buffer.data() + 1, 2.0F); }), FaultKind::store_to_input,
               "byte 4 of the input input");
  expect_fault(simt::run(launch, [&] { store_global(buffer.data() + 8, 2.0F); }), FaultKind::store_out_of_range,
               "output, which has 16 bytes");
  EXPECT_EQ(buffer, std::vector<float>(8, 1.0F)) << "a refused store changes nothing";
}

TEST(SimtFaults, MisalignedVectorLoad) {
  alignas(16) static const float input[9] = {};
  Launch launch = one_warp("misaligned");
  launch.buffers = {{"input", const_cast<float*>(input), sizeof(input), false}};
  expect_fault(simt::run(launch, [&] { load_global(reinterpret_cast<const Vector<float, 4>*>(input + 1)); }),
               FaultKind::misaligned_access, "not a multiple of 16");
}

TEST(SimtFaults, SharedMemoryReadBeforeItIsWritten) {
  Launch launch = one_warp("shared");
  launch.grid = {3, 1, 1};
  launch.only_blocks = std::vector<std::uint64_t>{0, 2};
  const auto kernel = [](unsigned writers) {
    LSECHECK_SHARED_ARRAY(float, stage, 32);
    if (threadIdx.x < writers && blockIdx.x == 0) stage.store(threadIdx.x, 1.0F);
    block_barrier(0, 32);
    stage.load(31 - threadIdx.x);
  };
  expect_fault(simt::run(launch, [&] { kernel(31); }), FaultKind::unwritten_shared_read,
               "shared element 31 that no thread");
  const auto stale = simt::run(launch, [&] { kernel(32); });
  expect_fault(stale, FaultKind::unwritten_shared_read, "block (2,0,0)");  // the last block's values do not count
  expect_fault(simt::run(launch,
                         [&] {
                           LSECHECK_SHARED_ARRAY(float, stage, 32);
                           stage.store(32, 1.0F);
                         }),
               FaultKind::shared_out_of_range, "shared element 32 of 32");
}

// The copy of the last group has not arrived: only the waited one may be read.
TEST(SimtFaults, AnAsynchronousCopyIsReadBeforeItsGroupIsWaitedFor) {
  const std::vector<float> from{1, 2};
  std::vector<float> to(32);
  Launch launch = one_warp("early");
  launch.buffers = {{"from", const_cast<float*>(from.data()), 2 * sizeof(float), false},
                    {"to", to.data(), to.size() * sizeof(float), true}};
  const auto run_reading = [&](std::size_t element) {
    return simt::run(launch, [&] {
      LSECHECK_SHARED_ARRAY(float, shared, 64);
      shared.copy_async(threadIdx.x, &from[0]);
      async_commit();
      shared.copy_async(32 + threadIdx.x, &from[1]);
      async_commit();
      async_wait<1>();
      store_global(&to[threadIdx.x], shared.load(32 * element + threadIdx.x));
    });
  };
  EXPECT_FALSE(run_reading(0).has_value());
  EXPECT_EQ(to[31], 1.0F);
  expect_fault(run_reading(1), FaultKind::unwritten_shared_read, "no thread has written");
}

TEST(SimtFaults, AnAsynchronousCopyPastTheEndOfItsSource) {
  const std::vector<float> from{1, 2};
  Launch launch = one_warp("past");
  launch.buffers = {{"from", const_cast<float*>(from.data()), 2 * sizeof(float), false}};
  const auto fault = simt::run(launch, [&] {
    LSECHECK_SHARED_ARRAY(float, shared, 32);
    shared.copy_async(threadIdx.x, &from[2]);
  });
  expect_fault(fault, FaultKind::load_out_of_range, "from");
}

TEST(SimtFaults, DependentLaunchMustWait) {
  const std::vector<float> input(32, 1.0F);
  Launch launch = one_warp("dependent");
  launch.dependent = true;
  launch.buffers = {{"lse_partial", const_cast<float*>(input.data()), input.size() * sizeof(float), false}};
  expect_fault(simt::run(launch,
                         [&] {
                           load_global(&input[threadIdx.x]);
                           grid_dependency_wait();
                         }),
               FaultKind::read_before_dependency_wait, "before griddepcontrol.wait");
  expect_fault(simt::run(launch,
                         [&] {
                           if (threadIdx.x != 9) grid_dependency_wait();
                         }),
               FaultKind::missing_dependency_wait, "thread 9 ends without griddepcontrol.wait");
  EXPECT_FALSE(simt::run(launch, [&] {
                 grid_dependency_wait();
                 load_global(&input[threadIdx.x]);
               }).has_value());
}

TEST(SimtFaults, GridBeyondTheLimits) {
  Launch launch = one_warp("grid");
  launch.grid = {1, 65536, 1};
  expect_fault(simt::run(launch, [] {}), FaultKind::grid_limit, "grid (1,65536,1)");
  launch.grid = {1, 1, 65536};
  expect_fault(simt::run(launch, [] {}), FaultKind::grid_limit, "y and z to 65535");
  launch.grid = {0, 1, 1};
  expect_fault(simt::run(launch, [] {}), FaultKind::grid_limit, "cannot be launched");
  launch.grid = {1, 65535, 1};
  launch.only_blocks = std::vector<std::uint64_t>{65534};
  EXPECT_FALSE(simt::run(launch, [] {}).has_value());
}

// Lane 0 publishes, lane 1 reads, nobody waits: ascending order hides it, another order shows it.
TEST(SimtSchedule, MissingBarrierShowsUnderTheRandomSchedule) {
  Launch launch = one_warp("missing barrier");
  launch.block = {64, 1, 1};
  const auto kernel = [](bool with_barrier) {
    LSECHECK_SHARED_ARRAY(float, stage, 64);
    stage.store(threadIdx.x, 1.0F);
    if (with_barrier) block_barrier(0, 64);
    if (threadIdx.x >= 32) stage.load(threadIdx.x - 32);
  };
  EXPECT_FALSE(simt::run(launch, [&] { kernel(false); }).has_value()) << "lockstep order happens to hide it";
  launch.schedule = Schedule::random;
  unsigned shown = 0;
  for (launch.schedule_seed = 0; launch.schedule_seed < 20; ++launch.schedule_seed) {
    shown += simt::run(launch, [&] { kernel(false); }).has_value();
    EXPECT_FALSE(simt::run(launch, [&] { kernel(true); }).has_value());
  }
  EXPECT_GE(shown, 18U);
}

TEST(SimtLaunch, FirstFaultingBlockIsReportedWhateverTheJobs) {
  Launch launch = one_warp("jobs");
  launch.grid = {1000, 1, 1};
  for (const unsigned jobs : {1U, 2U, 7U}) {
    launch.jobs = jobs;
    const auto fault = simt::run(launch, [] {
      if (blockIdx.x == 700 || blockIdx.x == 313) block_barrier(99, 32);
    });
    ASSERT_TRUE(fault.has_value());
    EXPECT_EQ(fault->block, 313U);
  }
}

// 2^32 + 32 elements: 16 GiB of address space, three pages of memory.
TEST(SimtLaunch, ChosenBlocksReachSparselyMappedBuffers) {
  const std::size_t elements = (std::size_t{1} << 32) + 32;
  void* const memory = mmap(nullptr, elements * sizeof(float), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const data = static_cast<float*>(memory);
  Launch launch = one_warp("sparse");
  launch.grid = {static_cast<std::uint32_t>(elements / 32), 1, 1};
  launch.buffers = {{"data", memory, elements * sizeof(float), true}};
  launch.only_blocks = std::vector<std::uint64_t>{0, elements / 32 - 1};
  const auto fault = simt::run(launch, [&] {
    store_global(data + (std::size_t{blockIdx.x} * 32 + threadIdx.x), static_cast<float>(threadIdx.x) + 1.0F);
  });
  EXPECT_FALSE(fault.has_value()) << fault->message;
  EXPECT_EQ(data[31], 32.0F);
  EXPECT_EQ(data[elements - 1], 32.0F);
  // A 32-bit index would have wrapped to the front and left the end unwritten.
  munmap(memory, elements * sizeof(float));
}

}  // namespace
}  // namespace lsecheck
