#include "kernels/simt/device_api.h"

#include <fmt/format.h>

namespace lsecheck::simt {

void unwritten_element(const char* name, std::size_t i, const std::source_location& where) {
  BlockRunner::current().fault(FaultKind::unwritten_shared_read,
                               fmt::format("reads {} {} that no thread has written", name, i), where);
}

void element_outside(const char* name, std::size_t i, std::size_t size, const std::source_location& where) {
  BlockRunner::current().fault(FaultKind::shared_out_of_range, fmt::format("uses {} {} of {}", name, i, size), where);
}

}  // namespace lsecheck::simt
