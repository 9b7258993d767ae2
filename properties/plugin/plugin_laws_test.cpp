// The correct plugins keep every law that says something of them; each planted fault breaks one, small and again.

#include "properties/plugin/plugin_laws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <variant>

#include "properties/case_draw.h"
#include "properties/case_expand.h"
#include "properties/case_file.h"
#include "properties/plugin/loaded_plugin.h"
#include "properties/runner.h"
#include "properties/temporary_directory.h"
#include "properties/tensor_edits.h"
#include "properties/token.h"
#include "reference/certified_reference.h"

namespace lsecheck {
namespace {

using ::testing::HasSubstr;

const DrawLimits kPluginAlone{.kernels = {KernelId::plugin}};

std::string plugin_file(const std::string& name) {
  return LSECHECK_TEST_PLUGINS "/" + name + ".so";
}

class CorrectPlugin : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Plugins, CorrectPlugin,
                         ::testing::Values("example_combine", "online_natural", "pairwise_unordered"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(CorrectPlugin, KeepsEveryLawThatSaysSomethingOfIt) {
  const LoadedPlugin plugin(plugin_file(GetParam()));
  const std::unique_ptr<Reference> reference = make_certified_reference();
  const std::vector<const Law*> laws = matching_laws("*");
  RunResults results;
  for (std::uint64_t i = 0; i < 500; ++i) {
    results.merge(evaluate_case(draw_spec(3, i, kPluginAlone), i, laws, *reference));
  }
  for (const Failure& failure : results.failures)
    ADD_FAILURE() << failure.law << ' ' << failure.shape << failure.message;
  for (const Law& law : all_laws()) {
    const auto row = results.laws.find({"plugin", std::string(law.name)});
    const bool held = row != results.laws.end() && row->second.checked > 10;
    EXPECT_EQ(held, says_something_of(law.id, plugin.description())) << law.name;
  }
  const auto graded = results.totals.elements;
  EXPECT_GT(graded, 50'000U);
}

// An online sum that passed the range before the largest exponent came stays -Inf, whatever follows.
TEST(PluginLaws, AnOverflownSumMayHaveTheOtherSignThanTheInfThatIsDue) {
  const LoadedPlugin plugin(plugin_file("online_natural"));
  CaseSpec spec;
  spec.kernel = KernelId::plugin;
  spec.num_partitions = 3;
  spec.ov_depth = 8;
  spec.out = DType::f16;
  spec.partial = DType::f32;
  spec.exponent = ExponentForm::natural;
  CaseTensors tensors = expand(spec);
  tensors.lse_partial = {0, 0, 50};
  for (std::size_t d = 0; d < spec.ov_depth; ++d) {
    tensors.o_partial[tensors.o_index(0, 0, d)] = tensors.o_partial[tensors.o_index(1, 0, d)] = 0xff7fffff;
    tensors.o_partial[tensors.o_index(2, 0, d)] = 0x7f7fffff;
  }
  const std::unique_ptr<Reference> reference = make_certified_reference();
  const LawOutcome outcome = check_guarded(*find_law("accuracy"), tensors, *reference);
  EXPECT_EQ(outcome.status, LawOutcome::Status::holds) << outcome.message;
}

TEST(PluginLaws, FollowFromWhatThePluginPromises) {
  PluginDescription plugin;
  const auto says = [&](LawId law) { return says_something_of(law, plugin); };
  EXPECT_TRUE(says(LawId::accuracy));
  EXPECT_FALSE(says(LawId::negation));
  EXPECT_FALSE(says(LawId::row_independence));
  plugin.bits = PluginBits::same_launch;
  EXPECT_TRUE(says(LawId::negation) && says(LawId::value_scaling) && says(LawId::garbage_ignored));
  EXPECT_FALSE(says(LawId::row_independence));
  plugin.bits = PluginBits::same_row;
  EXPECT_TRUE(says(LawId::row_independence) && says(LawId::all_empty_row));
  plugin.model.intermediate = DType::f16;
  EXPECT_FALSE(says(LawId::value_scaling));
  for (const LawId law : {LawId::twin, LawId::frozen_digest, LawId::special_values, LawId::large_grid}) {
    EXPECT_FALSE(says(law));
  }
}

TEST(PluginLaws, AGlobThatNamesNoneOfThemIsRefused) {
  const LoadedPlugin plugin(plugin_file("example_combine"));
  try {
    matching_laws("twin");
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "'twin' names no law that says something of example_combine");
  }
}

struct Fault {
  const char* plugin;
  LawId law;            // one that breaks
  const char* message;  // what it says
  int num_partitions;   // at most, of the smallest case
};
void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.plugin;
}

class FaultyPlugin : public ::testing::TestWithParam<Fault> {};
INSTANTIATE_TEST_SUITE_P(
    Faults, FaultyPlugin,
    ::testing::Values(Fault{"last_forgotten", LawId::accuracy, "bound_use", 2},
                      Fault{"log2_as_natural", LawId::accuracy, "bound_use", 2},
                      Fault{"garbage_multiplied", LawId::accuracy, ", due is ", 2},
                      Fault{"garbage_multiplied", LawId::garbage_ignored,
                            "zeros under the empty partitions, then garbage", 2},
                      Fault{"past_output", LawId::accuracy, "faulty_combine wrote outside its output", 1},
                      Fault{"input_changed", LawId::accuracy, "faulty_combine wrote to lse_partial or beside it", 1},
                      Fault{"place_dependent", LawId::row_independence, "moved to place", 1},
                      Fault{"own_error", LawId::accuracy, "faulty_combine returned 7: three heads are too many", 1}),
    [](const auto& test) {
      return std::string(test.param.plugin) + "_" +
             std::string(find_law(static_cast<std::uint8_t>(test.param.law))->name);
    });

TEST_P(FaultyPlugin, IsFoundMadeSmallAndFoundAgain) {
  const Fault& fault = GetParam();
  const LoadedPlugin plugin(plugin_file(fault.plugin));
  const std::unique_ptr<Reference> reference = make_certified_reference();
  const Law& law = *find_law(static_cast<std::uint8_t>(fault.law));
  const TemporaryDirectory directory;
  RunConfig config;
  config.seed = 1;
  config.limits = kPluginAlone;
  config.failure_directory = (directory / "failures").string();
  RunResults results;
  for (std::uint64_t i = 0; i < 200 && results.failures.empty(); ++i) {
    results.merge(evaluate_case(draw_spec(config.seed, i, config.limits), i, {&law}, *reference));
  }
  ASSERT_FALSE(results.failures.empty());
  const Failure small = shrunk_failure(results.failures.front(), config, *reference);
  EXPECT_THAT(small.message, HasSubstr(fault.message));
  EXPECT_THAT(small.shape, HasSubstr("rows=1 "));

  const Token token = std::get<Token>(parse_token(small.token));
  EXPECT_EQ(token.spec.kernel, KernelId::plugin);
  EXPECT_LE(token.spec.num_partitions, fault.num_partitions);
  EXPECT_EQ(check_guarded(law, expand(token.spec), *reference).status, LawOutcome::Status::fails);
  const CaseFile file = load_case(small.case_file, std::uint64_t{1} << 26);
  EXPECT_EQ(file.law, law.name);
  EXPECT_EQ(file.tensors.spec.kernel, KernelId::plugin);
  EXPECT_EQ(check_guarded(law, file.tensors, *reference).status, LawOutcome::Status::fails);
}

// Some 50,000 cases of each: no false alarm. Minutes.
class CorrectPluginNightlyTest : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Plugins, CorrectPluginNightlyTest,
                         ::testing::Values("example_combine", "online_natural", "pairwise_unordered"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(CorrectPluginNightlyTest, IsNeverFlagged) {
  const LoadedPlugin plugin(plugin_file(GetParam()));
  const std::unique_ptr<Reference> reference = make_certified_reference();
  const std::vector<const Law*> laws = matching_laws("*");
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    const RunResults results = evaluate_case(draw_spec(20261130, i, kPluginAlone), i, laws, *reference);
    ASSERT_TRUE(results.failures.empty()) << results.failures.front().shape << results.failures.front().message;
  }
}

}  // namespace
}  // namespace lsecheck
