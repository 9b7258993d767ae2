#include "properties/ordinary_rows.h"

#include <gtest/gtest.h>

#include <bit>

#include "properties/case_expand.h"
#include "properties/certify/certify_sequence.h"

namespace lsecheck {
namespace {

TEST(OrdinaryRows, DrawnByPlaceAreTheBitsOfTheCase) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{0x123456789abcdef0}}) {
    CaseSpec spec;
    spec.num_partitions = 37;
    spec.rows = 3;
    spec.heads = 2;
    spec.ov_depth = 72;
    spec.partial = DType::f32;
    spec.seed = seed;
    const CaseTensors tensors = expand(spec);
    for (std::uint32_t rh = 0; rh < spec.rows_heads(); ++rh) {
      const float scale = normal_row_scale_at(seed, rh);
      for (unsigned p = 0; p < spec.num_partitions; ++p) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(narrow_lse_at(seed, rh, p)),
                  std::bit_cast<std::uint32_t>(tensors.lse_partial[tensors.lse_index(p, rh)]));
        for (unsigned d = 0; d < spec.ov_depth; ++d) {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(normal_value_at(scale, seed, rh, p, d)),
                    tensors.o_partial[tensors.o_index(p, rh, d)]);
        }
      }
    }
  }
}

TEST(CertifySequence, RowsSideBySideAreThoseOfTheirCases) {
  const certify::Sequence sequence{.num_partitions = 5, .ov_depth = 64, .seed = 3};
  constexpr std::uint64_t kFirst = 2 * certify::kRowsPerCase - 3;
  constexpr std::uint32_t kCount = 6;
  const CaseTensors rows = certify::draw_rows(sequence, kFirst, kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const CaseSpec spec = sequence.case_of(kFirst + i);
    EXPECT_EQ(spec.seed, (std::uint64_t{3} << 32) + (i < 3 ? 1 : 2));
    const CaseTensors due = expand(spec);
    const std::uint64_t rh = (kFirst + i) % certify::kRowsPerCase;
    for (std::size_t p = 0; p < 5; ++p) {
      EXPECT_EQ(rows.lse_partial[rows.lse_index(p, i)], due.lse_partial[due.lse_index(p, rh)]);
      for (std::size_t d = 0; d < 64; ++d) {
        EXPECT_EQ(rows.o_partial[rows.o_index(p, i, d)], due.o_partial[due.o_index(p, rh, d)]);
      }
    }
  }
}

}  // namespace
}  // namespace lsecheck
