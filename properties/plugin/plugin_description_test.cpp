#include "properties/plugin/plugin_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace lsecheck {
namespace {

using ::testing::ElementsAre;

constexpr std::uint32_t kDepths[] = {128, 64, 128};
constexpr lsecheck_type_pair kTypes[] = {{LSECHECK_BF16, LSECHECK_F32}, {LSECHECK_F32, LSECHECK_F16}};

lsecheck_plugin valid_plugin() {
  return {.abi = LSECHECK_PLUGIN_ABI,
          .size = sizeof(lsecheck_plugin),
          .name = "their.kernel-2",
          .lse = LSECHECK_LSE_NATURAL,
          .combine_class = LSECHECK_PAIRWISE,
          .intermediate_type = LSECHECK_BF16,
          .all_empty_row = LSECHECK_NAN,
          .garbage = LSECHECK_GARBAGE_FINITE,
          .bits = LSECHECK_BITS_SAME_LAUNCH,
          .min_num_partitions = 2,
          .max_num_partitions = 1000,
          .depths = kDepths,
          .num_depths = 3,
          .types = kTypes,
          .num_types = 2,
          .combine = [](const lsecheck_combine_call*) { return 0; }};
}

TEST(PluginDescription, IsWhatThePluginSays) {
  const lsecheck_plugin plugin = valid_plugin();
  const PluginDescription description = describe_plugin(&plugin);
  EXPECT_EQ(description.name, "their.kernel-2");
  EXPECT_EQ(description.model.base, ExponentBase::natural);
  EXPECT_EQ(description.model.combine, CombineClass::pairwise);
  EXPECT_EQ(description.model.intermediate, DType::bf16);
  EXPECT_TRUE(description.all_empty_is_nan);
  EXPECT_FALSE(description.drops_garbage);
  EXPECT_EQ(description.bits, PluginBits::same_launch);
  EXPECT_EQ(description.min_partitions, 2);
  EXPECT_EQ(description.max_partitions, kPluginPMax);
  EXPECT_THAT(description.depths, ElementsAre(64, 128));
  ASSERT_EQ(description.types.size(), 2U);
  EXPECT_EQ(description.types[1].out, DType::f32);
  EXPECT_EQ(description.types[1].partial, DType::f16);
}

TEST(PluginDescription, TypesHaveTheNumbersOfTheHeader) {
  EXPECT_EQ(plugin_type(DType::bf16), std::uint32_t{LSECHECK_BF16});
  EXPECT_EQ(plugin_type(DType::f16), std::uint32_t{LSECHECK_F16});
  EXPECT_EQ(plugin_type(DType::f32), std::uint32_t{LSECHECK_F32});
}

// The line that refuses a plugin with one field changed.
std::string refusal(void (*change)(lsecheck_plugin&)) {
  lsecheck_plugin plugin = valid_plugin();
  change(plugin);
  try {
    describe_plugin(&plugin);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PluginDescription, RefusesEveryWrongFieldByName) {
  using Plugin = lsecheck_plugin;
  EXPECT_EQ(refusal([](Plugin& p) { p.abi = 7; }),
            "abi is 7, this program knows 1; build it with this program's lsecheck_plugin.h");
  EXPECT_EQ(refusal([](Plugin& p) { p.size = 8; }),
            "size is 8, not " + std::to_string(sizeof(Plugin)) + "; set it to sizeof(struct lsecheck_plugin)");
  constexpr const char* kName =
      "name is missing, longer than 64 characters or holds others than letters, digits and _ - . + :";
  EXPECT_EQ(refusal([](Plugin& p) { p.name = nullptr; }), kName);
  EXPECT_EQ(refusal([](Plugin& p) { p.name = ""; }), kName);
  EXPECT_EQ(refusal([](Plugin& p) { p.name = "two words"; }), kName);
  EXPECT_EQ(refusal([](Plugin& p) { p.name = "a234567890123456789012345678901234567890123456789012345678901234x"; }),
            kName);
  EXPECT_EQ(refusal([](Plugin& p) { p.lse = 0; }), "lse is 0; use LSECHECK_LSE_LOG2 or LSECHECK_LSE_NATURAL");
  EXPECT_EQ(refusal([](Plugin& p) { p.combine_class = 4; }),
            "combine_class is 4; use LSECHECK_FLAT or LSECHECK_ONLINE or LSECHECK_PAIRWISE");
  EXPECT_EQ(refusal([](Plugin& p) { p.intermediate_type = 9; }),
            "intermediate_type is 9; use LSECHECK_BF16 or LSECHECK_F16 or LSECHECK_F32");
  EXPECT_EQ(refusal([](Plugin& p) { p.all_empty_row = 0; }), "all_empty_row is 0; use LSECHECK_ZEROS or LSECHECK_NAN");
  EXPECT_EQ(refusal([](Plugin& p) { p.garbage = 0; }),
            "garbage is 0; use LSECHECK_GARBAGE_ANYTHING or LSECHECK_GARBAGE_FINITE");
  EXPECT_EQ(refusal([](Plugin& p) { p.bits = 4; }),
            "bits is 4; use LSECHECK_BITS_MAY_DIFFER or LSECHECK_BITS_SAME_LAUNCH or LSECHECK_BITS_SAME_ROW");
  EXPECT_EQ(refusal([](Plugin& p) { p.min_num_partitions = 0; }), "min_num_partitions is 0; cases have 1 to 160");
  EXPECT_EQ(refusal([](Plugin& p) { p.min_num_partitions = 161; }), "min_num_partitions is 161; cases have 1 to 160");
  EXPECT_EQ(refusal([](Plugin& p) { p.max_num_partitions = 1; }),
            "max_num_partitions is 1; it must be at least 2 and at least min_num_partitions, 2");
  EXPECT_EQ(refusal([](Plugin& p) { p.depths = nullptr; }), "depths holds 0 ov_depths; it must hold 1 to 32");
  EXPECT_EQ(refusal([](Plugin& p) { p.num_depths = 33; }), "depths holds 33 ov_depths; it must hold 1 to 32");
  EXPECT_EQ(refusal([](Plugin& p) {
              static constexpr std::uint32_t kZero = 0;
              p.depths = &kZero;
              p.num_depths = 1;
            }),
            "depths holds 0; an ov_depth is 1 to 4096");
  EXPECT_EQ(refusal([](Plugin& p) { p.types = nullptr; }), "types holds 0 pairs; it must hold 1 to 9");
  EXPECT_EQ(refusal([](Plugin& p) { p.num_types = 0; }), "types holds 0 pairs; it must hold 1 to 9");
  EXPECT_EQ(refusal([](Plugin& p) {
              static constexpr lsecheck_type_pair kUnknown{LSECHECK_F32, 0};
              p.types = &kUnknown;
              p.num_types = 1;
            }),
            "the partial of types is 0; use LSECHECK_BF16 or LSECHECK_F16 or LSECHECK_F32");
  EXPECT_EQ(refusal([](Plugin& p) { p.combine = nullptr; }), "combine is a null pointer");
  EXPECT_THROW(describe_plugin(nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace lsecheck
