#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// The tensor memory (TMEM) of one block on the executor: 128 lanes of 512 columns of 32 bits, with the hardware's
// access rule: warp w of a warpgroup reaches the lanes 32w to 32w + 31 and no others. Every access answers with what is
// wrong with it, or nothing.
namespace lsecheck::simt {

class TensorMemoryCells {
 public:
  static constexpr unsigned kLanes = 128;
  static constexpr unsigned kColumns = 512;

  // A new block: nothing allocated, nothing written.
  void reset();
  unsigned columns() const { return columns_; }  // allocated now

  std::optional<std::string> allocate(unsigned columns);
  std::optional<std::string> release(unsigned columns);

  // Thread `thread` of the block moves consecutive columns of lane lane_base + thread % 32.
  std::optional<std::string> store(unsigned thread, unsigned lane_base, unsigned column, std::span<const float> values);
  std::optional<std::string> load(unsigned thread, unsigned lane_base, unsigned column, std::span<float> values) const;

 private:
  std::optional<std::string> check_reach(unsigned thread, unsigned lane_base, unsigned column, std::size_t count) const;

  unsigned columns_ = 0;
  std::vector<float> value_;           // [kLanes, columns_]
  std::vector<std::uint8_t> written_;  // the same
};

}  // namespace lsecheck::simt
