#include "kernels/cuda/cuda_backend.h"
#include "properties/certify/row_certifier.h"

// The build without nvcc: certify.cmake compiles this file in place of cuda_certifier.cu.
namespace lsecheck::certify {

std::unique_ptr<RowCertifier> make_cuda_certifier(const Sequence&) {
  throw cuda::DeviceError(cuda::DeviceError::Kind::unavailable, cuda::availability().reason);
}

}  // namespace lsecheck::certify
