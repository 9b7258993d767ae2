#include "reference/mpfr_thread_cache.h"

#include <mpfr.h>

namespace lsecheck {
namespace {

struct MpfrCacheOfThread {
  ~MpfrCacheOfThread() { mpfr_free_cache(); }
  void use() const {}  // constructs it on this thread
};
thread_local const MpfrCacheOfThread mpfr_cache_of_thread;

}  // namespace

void free_mpfr_cache_at_thread_end() {
  mpfr_cache_of_thread.use();
}

}  // namespace lsecheck
