#include "properties/plugin/loaded_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <immintrin.h>

#include <map>
#include <optional>
#include <variant>

#include "properties/case_draw.h"
#include "properties/case_expand.h"
#include "properties/case_kernel.h"
#include "properties/case_limits.h"
#include "properties/run_case.h"
#include "properties/token.h"
#include "properties/whole_file.h"

namespace lsecheck {
namespace {

using ::testing::MatchesRegex;

const DrawLimits kPluginAlone{.kernels = {KernelId::plugin}};

std::string plugin_file(const std::string& name) {
  return LSECHECK_TEST_PLUGINS "/" + name + ".so";
}

std::string refusal(const std::string& file) {
  try {
    const LoadedPlugin plugin(file);
  } catch (const FileError& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_EQ(loaded_plugin(), nullptr);
    return error.what();
  }
  return "accepted";
}

TEST(LoadedPlugin, WhatIsNoneIsRefusedInALine) {
  EXPECT_THAT(refusal("no-such-file.so"),
              MatchesRegex("no-such-file.so: cannot open shared object file: No such file or directory"));
  EXPECT_THAT(refusal(LSECHECK_SOURCE_DIR "/README.md"), MatchesRegex(".*README.md: invalid ELF header"));
  EXPECT_THAT(refusal(plugin_file("no_symbol")), MatchesRegex(".*no_symbol.so: it exports no lsecheck_plugin_v1.*"));
  EXPECT_THAT(refusal(plugin_file("other_abi")), MatchesRegex(".*other_abi.so: abi is 2, this program knows 1;.*"));
}

TEST(LoadedPlugin, CodeThatEndsTheProcessAtLoadIsRefusedInALine) {
  EXPECT_THAT(refusal(plugin_file("exit_at_load")),
              MatchesRegex(".*exit_at_load.so: it ends the process while it is loaded, with exit code 0; .*"));
  EXPECT_THAT(refusal(plugin_file("crash_at_load")),
              MatchesRegex(".*crash_at_load.so: it crashes while it is loaded: Aborted; .*"));
}

TEST(LoadedPlugin, IsKnownByItsFile) {
  std::string build;
  {
    const LoadedPlugin plugin(plugin_file("past_output"));
    build = loaded_plugin_build();
    EXPECT_THAT(build, MatchesRegex("faulty_combine@[0-9a-f]+"));
  }
  const LoadedPlugin plugin(plugin_file("input_changed"));
  EXPECT_NE(loaded_plugin_build(), build);
}

TEST(LoadedPlugin, IsRegisteredAsLongAsItLives) {
  EXPECT_EQ(registered_kernel(KernelId::plugin), nullptr);
  std::string token;
  {
    const LoadedPlugin plugin(plugin_file("example_combine"));
    EXPECT_EQ(registered_kernel(KernelId::plugin)->summary(), "example_combine");
    EXPECT_EQ(backend_in_use(), Backend::plugin);
    EXPECT_EQ(loaded_plugin()->name, "example_combine");
    token = format_token({0, draw_spec(1, 0, kPluginAlone)});
    EXPECT_TRUE(std::holds_alternative<Token>(parse_token(token)));
  }
  EXPECT_EQ(registered_kernel(KernelId::plugin), nullptr);
  EXPECT_EQ(backend_in_use(), Backend::cpu);
  EXPECT_EQ(loaded_plugin(), nullptr);
  EXPECT_EQ(std::get<MalformedToken>(parse_token(token)).message,
            "token: its kernel is a plugin, and none is loaded; `run` and `repro` load one with --plugin FILE");
}

// A plugin beside them changes nothing for this program's kernels.
TEST(LoadedPlugin, LeavesTheOtherKernelsTheirCases) {
  DrawLimits all{.kernels = kernels_matching("*")};
  std::vector<CaseSpec> before;
  for (std::uint64_t i = 0; i < 100; ++i) before.push_back(draw_spec(1, i, all));
  const LoadedPlugin plugin(plugin_file("example_combine"));
  EXPECT_EQ(kernels_matching("*"), all.kernels);
  for (std::uint64_t i = 0; i < before.size(); ++i) EXPECT_EQ(draw_spec(1, i, all), before[i]);
}

TEST(LoadedPlugin, IsDealtEverythingThatItTakesAndNothingElse) {
  const LoadedPlugin plugin(plugin_file("online_natural"));
  std::map<std::string, int> seen;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const CaseSpec spec = draw_spec(1, i, kPluginAlone);
    ASSERT_EQ(spec_error(spec), std::nullopt);
    ++seen["P=" + std::to_string(spec.num_partitions)];
    ++seen[std::string(name_of(spec.out)) + "<-" + std::string(name_of(spec.partial))];
    ++seen["D=" + std::to_string(spec.ov_depth)];
    ++seen[std::string(name_of(spec.lse))];
    ++seen[std::string(name_of(spec.values))];
    ++seen[std::string(name_of(spec.garbage))];
    EXPECT_EQ(spec.exponent, ExponentForm::natural);
  }
  for (const char* name : {"P=2", "P=48", "P=31", "P=33", "D=8", "D=32", "f32<-f32", "f16<-f16", "f32<-f16", "ties",
                           "attention", "huge", "stale_bits"}) {
    EXPECT_GT(seen[name], 2) << name;
  }
  for (const char* name : {"P=1", "P=49", "policy", "nonfinite", "nan", "inf"}) EXPECT_EQ(seen[name], 0) << name;
}

TEST(LoadedPlugin, RefusesCasesOfAnotherShape) {
  const LoadedPlugin plugin(plugin_file("online_natural"));
  CaseSpec spec = draw_spec(1, 0, kPluginAlone);
  const auto error_with = [&](auto change) {
    CaseSpec changed = spec;
    change(changed);
    return spec_error(changed).value_or("");
  };
  EXPECT_EQ(error_with([](CaseSpec& s) { s.ov_depth = 64; }), "ov_depth 64 has no kernel; use one of 8 32");
  EXPECT_EQ(error_with([](CaseSpec& s) { s.num_partitions = 49; }), "num_partitions 49 is outside 1..48");
  EXPECT_EQ(error_with([](CaseSpec& s) { s.lse = LseRegime::policy; }),
            "lse policy does not go with kernel plugin, which promises nothing of NaN and Inf under a weight");
  EXPECT_EQ(error_with([](CaseSpec& s) { s.exponent = ExponentForm::log2; }),
            "exponent log2 does not go with kernel plugin, which reads natural");
}

// online_natural.cpp sets the flush of subnormals when it is loaded.
TEST(LoadedPlugin, KeepsItsModeOfTheProcessorToItself) {
  constexpr unsigned kFlush = 0x8040;
  const unsigned before = _mm_getcsr();
  ASSERT_EQ(before & kFlush, 0U);
  const LoadedPlugin plugin(plugin_file("online_natural"));
  EXPECT_EQ(_mm_getcsr() & kFlush, 0U);
  // Two partitions of half the weight each: the output is the common value, a subnormal.
  CaseSpec spec = draw_spec(1, 0, kPluginAlone);
  spec.num_partitions = 2;
  spec.rows = spec.heads = 1;
  spec.ov_depth = 8;
  spec.out = spec.partial = DType::f32;
  CaseTensors tensors{spec, {0, 0}, std::vector<std::uint32_t>(16, 1000U)};
  EXPECT_EQ(run_kernel(tensors).out_bits, std::vector<std::uint32_t>(8, 0U));
  EXPECT_EQ(_mm_getcsr() & kFlush, 0U);
}

TEST(LoadedPlugin, NothingIsDueWhereItPromisesNothing) {
  const LoadedPlugin plugin(plugin_file("example_combine"));
  const CombineKernel& kernel = *registered_kernel(KernelId::plugin);
  CombineShape shape{.num_partitions = 2, .rows = 1, .heads = 1, .ov_depth = 64};
  shape.out = shape.partial = DType::f32;
  constexpr std::uint8_t kAnything = kFinite | kNaN | kPositiveInf | kNegativeInf;
  std::vector<float> lse{0, 1};
  std::vector<std::uint32_t> o(128, 0x3f800000U);
  const auto expect = [&] {
    return kernel.expect(shape, kernel.variants(shape).front(), {lse, o}, sfu::UnitKind::h200);
  };
  EXPECT_EQ(expect().due, std::vector<std::uint8_t>(64, kFinite));
  o[3] = 0x7f800000U;  // Inf
  EXPECT_EQ(expect().due[3], kAnything);
  EXPECT_EQ(expect().due[4], kFinite);
  lse[0] = -INFINITY;  // dropped
  EXPECT_EQ(expect().due[3], kFinite);
  lse[1] = -INFINITY;
  EXPECT_EQ(expect().row_class, RowClass::zeros);
  lse[0] = NAN;
  EXPECT_EQ(expect().due, std::vector<std::uint8_t>(64, kAnything));
  lse = {0, 0};
  o.assign(128, 0x7f7fffffU);  // the sum passes f32
  EXPECT_EQ(expect().due[0], kFinite | kNaNByOverflow);
}

}  // namespace
}  // namespace lsecheck
