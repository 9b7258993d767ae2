#pragma once

namespace lsecheck {

// MPFR keeps its constants and scratch numbers per thread; a thread that has called this frees them as it ends.
void free_mpfr_cache_at_thread_end();

}  // namespace lsecheck
