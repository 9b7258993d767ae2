#pragma once

#include "kernels/ptx_float.h"
#include "reference/float_format.h"

// The C++ type that a kernel stores a DType in.
namespace lsecheck::cuda {

template <DType type>
struct StoredAs {
  using Element = float;
};
template <>
struct StoredAs<DType::bf16> {
  using Element = bf16;
};
template <>
struct StoredAs<DType::f16> {
  using Element = f16;
};

template <DType type>
using ElementOf = typename StoredAs<type>::Element;

}  // namespace lsecheck::cuda
