#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "properties/case_tensors.h"
#include "properties/laws.h"

// The checks that tests of such kernels usually make, on the cases of a run: what would they have said? They get the
// best reference there is, the exact value rounded to double, and equal NaN or Inf where the contract has them.
namespace lsecheck {

enum class Detector : std::uint8_t {
  assert_close_bf16,  // torch.testing.assert_close's defaults for bf16: atol 1e-5, rtol 1.6e-2
  assert_close_f32,   // and for f32: atol 1e-5, rtol 1.3e-6
  allclose_1e_2,      // atol = rtol = 1e-2
  allclose_1e_3,      // atol = rtol = 1e-3
  twice_cast          // FlashAttention's: max abs(out - ref) <= 2 max abs(cast(ref) - ref), over the tensor
};
inline constexpr std::size_t kDetectorCount = 5;
inline constexpr std::array<std::string_view, kDetectorCount> kDetectorNames{
    "assert_close_bf16", "assert_close_f32", "allclose_1e-2", "allclose_1e-3", "twice_cast"};

// Bit d: detector d finds fault with the output of the case.
std::uint8_t detectors_that_flag(const CaseTensors& tensors, const AccuracyMeasurement& measured);

// Collects over a run; the order of the calls does not matter.
class DetectorLog {
 public:
  void add(std::uint64_t case_index, const CaseTensors& tensors, const AccuracyMeasurement& measured);
  std::vector<std::uint64_t> flagged(Detector detector) const;  // ascending
  std::uint64_t cases() const { return flags_.size(); }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint8_t> flags_;
};

// Schema "lsecheck.detectors/1": cases, the number of outputs looked at (a kernel that the executor stops has none),
// and for each detector the cases that it flags.
std::string detectors_text(const DetectorLog& log);
// The flagged cases by detector. Throws std::invalid_argument.
std::array<std::vector<std::uint64_t>, kDetectorCount> parse_detectors(std::string_view text);

}  // namespace lsecheck
