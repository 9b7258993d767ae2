#include "properties/certify/certify_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "properties/case_rows.h"
#include "properties/laws.h"
#include "properties/token.h"

namespace lsecheck::certify {

CaseSpec Sequence::case_of(std::uint64_t row) const {
  CaseSpec spec;
  spec.arch = Arch::sm_90;
  spec.num_partitions = num_partitions;
  spec.rows = kRowsPerCase;
  spec.ov_depth = ov_depth;
  spec.out = DType::bf16;
  spec.partial = DType::f32;
  spec.garbage = Garbage::zero;
  spec.seed = case_seed(row);
  return spec;
}

CaseTensors draw_rows(const Sequence& sequence, std::uint64_t first, std::uint32_t count) {
  CaseTensors tensors;
  tensors.spec = sequence.case_of(first);
  tensors.spec.rows = count;
  tensors.lse_partial.resize(std::size_t{count} * sequence.num_partitions);
  tensors.o_partial.resize(tensors.lse_partial.size() * sequence.ov_depth);
  for (std::uint32_t i = 0; i < count; ++i) {
    const CaseSpec spec = sequence.case_of(first + i);
    const std::uint64_t rh = (first + i) % kRowsPerCase;
    const std::vector<float> lse = draw_lse_row(spec, rh);
    const std::vector<float> values = draw_value_row(spec, rh, lse, {});
    for (std::size_t p = 0; p < lse.size(); ++p) {
      tensors.lse_partial[tensors.lse_index(p, i)] = lse[p];
      const auto from = values.begin() + static_cast<std::ptrdiff_t>(p * sequence.ov_depth);
      std::transform(from, from + sequence.ov_depth,
                     tensors.o_partial.begin() + static_cast<std::ptrdiff_t>(tensors.o_index(p, i, 0)),
                     [](float value) { return std::bit_cast<std::uint32_t>(value); });
    }
  }
  return tensors;
}

std::string place_of(const Sequence& sequence, std::uint64_t row) {
  return fmt::format("{} row-head {}",
                     format_token({static_cast<std::uint8_t>(LawId::accuracy), sequence.case_of(row)}),
                     row % kRowsPerCase);
}

}  // namespace lsecheck::certify
