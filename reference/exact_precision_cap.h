#pragma once

#include <stdexcept>

namespace lsecheck {

// The exact reference could not decide a question at its highest precision.
class PrecisionCapReached : public std::runtime_error {
 public:
  PrecisionCapReached()
      : std::runtime_error(
            "exact reference: undecided at the precision cap of 4096 bits; the row mixes magnitudes too far apart") {}
};

}  // namespace lsecheck
