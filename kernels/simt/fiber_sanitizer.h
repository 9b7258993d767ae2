#pragma once

#include <cstddef>

// The sanitizers follow a stack switch only when told of it: AddressSanitizer wants the bounds of the stack, and
// ThreadSanitizer a fiber of its own that stands for it. In other builds these calls are empty. ThreadSanitizer does
// not follow a process that is forked while such fibers exist, and reports races there that are none: tests that fork
// after launches are not for it.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LSECHECK_FIBERS_UNDER_ASAN
#endif
#if __has_feature(thread_sanitizer)
#define LSECHECK_FIBERS_UNDER_TSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define LSECHECK_FIBERS_UNDER_ASAN
#endif
#if defined(__SANITIZE_THREAD__)
#define LSECHECK_FIBERS_UNDER_TSAN
#endif

#if defined(LSECHECK_FIBERS_UNDER_ASAN)
#include <sanitizer/common_interface_defs.h>
#elif defined(LSECHECK_FIBERS_UNDER_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

// What runs between two stack switches is inlined for speed. The sanitizers multiply inlined code by their checks,
// hence the compiler's time by five, where nobody asks for speed.
#if defined(LSECHECK_FIBERS_UNDER_ASAN) || defined(LSECHECK_FIBERS_UNDER_TSAN)
#define LSECHECK_ALWAYS_INLINE
#else
#define LSECHECK_ALWAYS_INLINE [[gnu::always_inline]]
#endif

namespace lsecheck::simt::fiber_sanitizer {

// A stack that control may switch to: a fiber's, or that of the OS thread.
struct Stack {
  const void* bottom = nullptr;
  std::size_t size = 0;
  void* twin = nullptr;  // ThreadSanitizer's fiber
};

#if defined(LSECHECK_FIBERS_UNDER_ASAN)

inline constexpr bool kActive = true;
inline void created(Stack&) {}
inline void running(Stack&) {}
inline void start_switch(void** fake_stack, const Stack& to) {
  __sanitizer_start_switch_fiber(fake_stack, to.bottom, to.size);
}
inline void finish_switch(void* fake_stack, Stack& from) {
  __sanitizer_finish_switch_fiber(fake_stack, &from.bottom, &from.size);
}

#elif defined(LSECHECK_FIBERS_UNDER_TSAN)

inline constexpr bool kActive = true;
inline void created(Stack& stack) {
  stack.twin = __tsan_create_fiber(0);
}
inline void running(Stack& stack) {
  stack.twin = __tsan_get_current_fiber();
}
inline void start_switch(void**, const Stack& to) {
  __tsan_switch_to_fiber(to.twin, 0);
}
inline void finish_switch(void*, Stack&) {}

#else

inline constexpr bool kActive = false;
inline void created(Stack&) {}
inline void running(Stack&) {}
inline void start_switch(void**, const Stack&) {}
inline void finish_switch(void*, Stack&) {}

#endif

}  // namespace lsecheck::simt::fiber_sanitizer
