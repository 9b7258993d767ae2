#pragma once

#include <cstddef>

// AddressSanitizer has to be told of every stack switch; in other builds these calls are empty.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace lsecheck::simt::fiber_sanitizer {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kActive = true;
inline void start_switch(void** fake_stack, const void* bottom, std::size_t size) {
  __sanitizer_start_switch_fiber(fake_stack, bottom, size);
}
// The fiber ends with this switch: its fake stack is released.
inline void start_last_switch(const void* bottom, std::size_t size) {
  __sanitizer_start_switch_fiber(nullptr, bottom, size);
}
inline void finish_switch(void* fake_stack, const void** old_bottom, std::size_t* old_size) {
  __sanitizer_finish_switch_fiber(fake_stack, old_bottom, old_size);
}
#else
inline constexpr bool kActive = false;
inline void start_switch(void**, const void*, std::size_t) {}
inline void start_last_switch(const void*, std::size_t) {}
inline void finish_switch(void*, const void**, std::size_t*) {}
#endif

}  // namespace lsecheck::simt::fiber_sanitizer
