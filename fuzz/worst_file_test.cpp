#include "fuzz/worst_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "fuzz/committed_worst.h"
#include "fuzz/worst_replay.h"
#include "kernels/registry.h"
#include "properties/case_draw.h"
#include "properties/case_file.h"
#include "properties/test_broken_kernel.h"
#include "properties/whole_file.h"
#include "reference/certified_reference.h"

namespace lsecheck {
namespace {

WorstCase with_masses() {
  WorstCase worst;
  worst.target = {KernelId::fa4_ws_level2_reduce_scatter_write,
                  Arch::sm_100a,
                  DType::f32,
                  DType::f32,
                  ExponentForm::scaled,
                  2,
                  LseRegime::dominant,
                  HuntMetric::bound_use};
  worst.variant = "mpack4";
  worst.ov_depth = 64;
  worst.exponent_scale = 0x1.7154p-3F;
  worst.value = 0x1.dp-1;
  worst.lse = {-0x1.123456p+3F, std::numeric_limits<float>::denorm_min()};
  worst.mass = {1, 0x1.000002p+7F};
  worst.o = {0x3f800001, 0x80000000};
  return worst;
}

WorstFile small_file() {
  WorstFile file{KernelId::fa4_ws_level2_reduce_scatter_write, DType::f32, DType::f32, kGeneratorVersion, {}};
  HuntRecord& record = file.record_of(with_masses().target);
  record.seed = 7;
  record.islands = 12;
  record.add(with_masses(), 2);
  HuntTarget other = with_masses().target;
  other.regime = LseRegime::narrow;
  file.record_of(other).seed = 8;
  return file;
}

std::string refusal_of(const std::string& text) {
  try {
    parse_worst_file(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.rfind(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(WorstFile, EveryBitComesBack) {
  const std::string text = format_worst_file(small_file());
  const WorstFile file = parse_worst_file(text);
  EXPECT_EQ(format_worst_file(file), text);
  ASSERT_EQ(file.records.size(), 2u);
  EXPECT_EQ(file.records[0].seed, 7u);
  EXPECT_EQ(file.records[0].islands, 12u);
  const WorstCase& worst = file.records[0].cases.at(0);
  EXPECT_EQ(worst.lse, with_masses().lse);
  EXPECT_EQ(worst.mass, with_masses().mass);
  EXPECT_EQ(worst.o, with_masses().o);
  EXPECT_EQ(worst.value, with_masses().value);
  EXPECT_EQ(worst.exponent_scale, with_masses().exponent_scale);
  EXPECT_EQ(worst.target, with_masses().target);
}

TEST(WorstFile, AnEmptyPartitionAndNegativeZeroComeBack) {
  WorstCase worst = with_masses();
  worst.lse = {-INFINITY, -0.0F};
  const WorstCase back = parse_worst_case(format_worst_case(worst));
  EXPECT_EQ(back.lse[0], -INFINITY);
  EXPECT_TRUE(std::signbit(back.lse[1]));
}

TEST(WorstFile, DamageIsNamed) {
  const std::string good = format_worst_file(small_file());
  EXPECT_EQ(refusal_of(""), "line 1: the file ends within a line");
  EXPECT_EQ(refusal_of(good.substr(0, good.size() - 1)), "line 4: the file ends within a line");
  const struct {
    const char *from, *to, *says;
  } kDamage[] = {
      {"format=1", "format=2", "line 1: format=2: this lsecheck reads format 1"},
      {"lsecheck-worst", "lsecheck-cases", "line 1: 'lsecheck-worst format=' is due"},
      {"hunt kernel", "hint kernel", "line 4: 'hunt ' or 'case ' is due"},
      {"regime=narrow", "regime=dominant", "line 4: the same hunt as a line before"},
      {"regime=narrow", "regime=policy", "line 4: regime=policy: no regime that is hunted in"},
      {"seed=8", "seed=-8", "line 4: seed=-8: not a number of its range"},
      {"seed=8", "seed=99999999999999999999", "not a number of its range"},
      {"unit=h200", "unit=spec", "line 3: unit=spec: the hunter knows h200 alone"},
      {"metric=bound_use variant", "metric=speed variant", "line 3: metric=speed: no such metric"},
      {"metric=bound_use variant", "metric=ulp variant", "line 3: the case is not of the hunt above it"},
      {"lse=-0x1", "lse=-1", "not a hexadecimal floating-point number"},
      {"lse=-0x1.123456p+3", "lse=-0xnan", "not a hexadecimal floating-point number"},
      {"mass=0x1p+0,", "mass=-0x1p+0,", "line 3: mass: finite numbers from 0 upward"},
      {"mass=0x1p+0,0x1.000002p+7", "mass=none", "line 3: 0 masses for P=2"},
      {"scale=0x1", "scale=-0x1", "line 3: scale="},
      {"o=3f800001,", "o=", "line 3: P=2, but 2 in lse and 1 in o"},
      {"o=3f800001", "o=3f80000g", "line 3: o=3f80000g: not a number"},
      {" D=64", "", "line 3: ' D=' is due"},
  };
  for (const auto& damage : kDamage) {
    const std::string says = refusal_of(replaced(good, damage.from, damage.to));
    EXPECT_NE(says.find(damage.says), std::string::npos) << damage.from << " -> " << damage.to << ": " << says;
  }
}

TEST(WorstFile, FilesAreWrittenWholeOrNotAtAll) {
  const std::string path = testing::TempDir() + "worst_file_test.txt";
  save_worst_file(path, small_file());
  EXPECT_EQ(format_worst_file(load_worst_file(path)), format_worst_file(small_file()));
  std::ofstream(path) << "something else\n";
  try {
    load_worst_file(path);
    FAIL();
  } catch (const FileError& error) {
    EXPECT_EQ(error.kind(), FileErrorKind::unreadable);
    EXPECT_TRUE(std::string(error.what()).starts_with(path + ": line 1: ")) << error.what();
  }
  std::filesystem::remove(path);
  EXPECT_THROW(save_worst_file("/no/such/folder/w.txt", small_file()), FileError);
}

TEST(WorstFile, ARecordKeepsTheWorstOnceEach) {
  HuntRecord record;
  WorstCase worst = with_masses();
  for (const double value : {2.0, 5.0, 3.0, 5.0, 1.0}) {
    worst.value = value;
    record.add(worst, 3);
  }
  ASSERT_EQ(record.cases.size(), 3u);
  EXPECT_EQ(record.cases[0].value, 5);
  EXPECT_EQ(record.cases[1].value, 3);
  EXPECT_EQ(record.cases[2].value, 2);
}

TEST(WorstFile, CommittedCasesAreInsideTheBound) {
  const std::vector<WorstCase> cases = committed_worst_cases();
  ASSERT_FALSE(cases.empty());
  const std::vector<KernelId> kernels = kernels_matching("*");
  const WorstReplays replays = replay_worst_cases(cases, kernels, testing::TempDir());
  EXPECT_EQ(replays.replayed, cases.size());
  EXPECT_EQ(replays.not_in_this_build, 0u);
  EXPECT_EQ(replays.results.totals.failures, 0u);
}

// In processes of their own the cases give the same, and a kernel that crashes fails with the case's file.
TEST(WorstFile, IsolatedReplaysOutliveTheKernel) {
  const std::vector<WorstCase> all = committed_worst_cases();
  std::vector<WorstCase> cases;
  for (const WorstCase& worst : all) {
    if (worst.target.kernel == KernelId::mha_splitk_reduce && cases.size() < 6) cases.push_back(worst);
    if (worst.target.kernel == KernelId::fa4_splitk_combine && cases.size() < 3) cases.push_back(worst);
  }
  const KernelId kernels[] = {KernelId::fa4_splitk_combine, KernelId::mha_splitk_reduce};
  const std::string folder = testing::TempDir() + "isolated_worst";
  const WorstReplays sound = replay_worst_cases_isolated(cases, kernels, folder, WorkerLimits{}, 2);
  EXPECT_EQ(sound.replayed, cases.size());
  EXPECT_EQ(sound.results.totals.failures, 0u);
  const auto reference = make_certified_reference();
  const auto isolated = replay_isolated(cases, WorkerLimits{}, 2);
  for (std::size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(isolated[i]->value, replay(cases[i], *reference)->value);
  const BrokenKernel broken(*find_kernel("mha_splitk_reduce"), [](const CombineShape&) { std::abort(); });
  const KernelInPlace in_place(broken);
  const WorstReplays lost = replay_worst_cases_isolated(cases, kernels, folder, WorkerLimits{}, 2);
  EXPECT_EQ(lost.results.totals.failures, 3u) << "then the kernel is given up";
  for (const Failure& failure : lost.results.failures) {
    EXPECT_EQ(failure.kernel, "mha_splitk_reduce");
    EXPECT_EQ(failure.message, "the process that ran the kernel crashed: Aborted");
    EXPECT_EQ(load_case(failure.token, 1 << 20).law, "accuracy");
  }
  const auto replays = replay_isolated(cases, WorkerLimits{}, 1);
  std::size_t died = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool of_broken = cases[i].target.kernel == KernelId::mha_splitk_reduce;
    ASSERT_EQ(replays[i].has_value(), !of_broken || died < 3);
    died += of_broken && replays[i] ? 1 : 0;
    EXPECT_EQ(replays[i] && replays[i]->died, of_broken && replays[i]);
  }
}

TEST(WorstFile, WhatThisBuildCannotLaunchIsPassedOver) {
  WorstCase worst = with_masses();
  worst.target.num_partitions = 3;  // level 2 folds two warpgroups
  worst.lse.push_back(0);
  worst.mass.push_back(1);
  worst.o.push_back(0);
  const KernelId kernels[] = {worst.target.kernel};
  const WorstReplays replays = replay_worst_cases(std::span(&worst, 1), kernels, testing::TempDir());
  EXPECT_EQ(replays.replayed, 0u);
  EXPECT_EQ(replays.not_in_this_build, 1u);
}

TEST(WorstFile, AFailureComesWithACaseFileThatReplays) {
  const auto reference = make_certified_reference();
  const std::optional<WorstReplay> replayed = replay(with_masses(), *reference);
  ASSERT_TRUE(replayed);
  EXPECT_FALSE(replayed->failure);
  RunResults results;
  add_worst_failure(results, with_masses(), "got 1, due is 2", 3, testing::TempDir() + "worst_failures");
  EXPECT_EQ(results.totals.failures, 1u);
  ASSERT_EQ(results.failures.size(), 1u);
  EXPECT_EQ(results.failures[0].message, "got 1, due is 2");
  const LawRow& law = results.laws.at({results.failures[0].kernel, "accuracy"});
  EXPECT_EQ(law.failed, 1u);
  const CaseFile file = load_case(results.failures[0].token, 1 << 20);
  EXPECT_EQ(file.law, "accuracy");
  EXPECT_EQ(file.tensors.lse_partial, with_masses().lse);
  EXPECT_EQ(file.tensors.exponent_scale, with_masses().exponent_scale);
  EXPECT_EQ(file.tensors.mass_partial, with_masses().mass);
  EXPECT_EQ(file.tensors.o_partial, launched_tensors(with_masses())->o_partial);
}

}  // namespace
}  // namespace lsecheck
