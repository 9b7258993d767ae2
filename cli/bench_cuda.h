#pragma once

namespace lsecheck::cli {

// `lsecheck bench --backend cuda`: the combine on the device against a device-to-device copy in the same run.
void bench_cuda(int repeats);

}  // namespace lsecheck::cli
