#include "properties/case_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/registry.h"

namespace lsecheck {

const CombineKernel* registered_kernel(KernelId kernel) {
  return find_kernel(name_of(kernel));
}

const CombineKernel& kernel_of(const CaseSpec& spec) {
  const CombineKernel* const kernel = registered_kernel(spec.kernel);
  if (kernel == nullptr) throw std::invalid_argument(fmt::format("no kernel {}", name_of(spec.kernel)));
  return *kernel;
}

CombineShape shape_of(const CaseSpec& spec) {
  return {spec.arch, spec.num_partitions, spec.rows, spec.heads, spec.ov_depth, spec.out, spec.partial, spec.exponent};
}

CombineShape shape_of(const CaseTensors& tensors) {
  CombineShape shape = shape_of(tensors.spec);
  shape.exponent_scale = tensors.exponent_scale;
  return shape;
}

std::size_t columns_of(const CaseSpec& spec) {
  return kernel_of(spec).output_columns(shape_of(spec));
}

KernelVariant variant_of(const CaseSpec& spec) {
  const std::vector<KernelVariant> variants = kernel_of(spec).variants(shape_of(spec));
  if (spec.selection == Selection::runtime_p) {
    return *std::find_if(variants.begin(), variants.end(), [](const KernelVariant& v) { return v.p_static == 0; });
  }
  if (spec.selection == Selection::alternative) return variants[1 + spec.seed % (variants.size() - 1)];
  return variants.front();
}

}  // namespace lsecheck
