#include "properties/plugin/guarded_buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace lsecheck {
namespace {

TEST(GuardedBuffer, NoticesEveryByteBesideItsContent) {
  constexpr std::array<std::byte, 5> kContent{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}};
  for (const std::ptrdiff_t place : {-16384, -1, 5, 6, 16388}) {
    GuardedBuffer buffer(kContent);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
    EXPECT_TRUE(std::equal(kContent.begin(), kContent.end(), buffer.content().begin(), buffer.content().end()));
    EXPECT_TRUE(buffer.bands_intact());
    buffer.data()[place] = std::byte{0xfe};
    EXPECT_FALSE(buffer.bands_intact()) << place;
  }
}

}  // namespace
}  // namespace lsecheck
