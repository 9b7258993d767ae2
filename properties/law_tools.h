#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/laws.h"
#include "properties/philox.h"
#include "properties/run_case.h"

// What the laws share: their random choices, running and comparing.
namespace lsecheck {

// A law's own stream: the same case and law make the same choices anywhere.
PhiloxStream law_stream(const CaseTensors& tensors, LawId law);

// Runs the case and holds the output against the contract and the bound; empty when all is well, otherwise what was
// wrong. `what` opens the message: it says which derived case this is.
std::optional<std::string> graded_run_fault(const CaseTensors& tensors, Reference& reference, const std::string& what);

// The first element in which two outputs differ; nullopt when none does. Both [rows_heads * columns] of `type`.
enum class BitComparison { every_bit, zero_signs_and_nans_alike };
std::optional<std::string> first_difference(DType type, std::size_t columns, const std::vector<std::uint32_t>& expected,
                                            const std::vector<std::uint32_t>& got, BitComparison comparison);

// -0 becomes +0, every NaN one NaN.
std::uint32_t canonical(DType type, std::uint32_t bits);

// NaN or +inf anywhere among the exponents, NaN or Inf among the masses.
bool has_special_input(const CaseTensors& tensors);
inline constexpr const char* kSpecialInput = "NaN or Inf among the exponents or masses";
bool row_is_empty(const CaseTensors& tensors, std::size_t row_head);

// Upper bounds on the factors 2^x_p / L that the a_p of a finite row are multiplied by, within 2^-38 relative.
std::vector<double> weights_up(const RowProblem& row);

LawOutcome check_all_empty_row(const CaseTensors& tensors, Reference& reference);
LawOutcome check_garbage_ignored(const CaseTensors& tensors, Reference& reference);
LawOutcome check_single_partition(const CaseTensors& tensors, Reference& reference);
LawOutcome check_trailing_empties(const CaseTensors& tensors, Reference& reference);
LawOutcome check_empty_anywhere(const CaseTensors& tensors, Reference& reference);
LawOutcome check_permutation(const CaseTensors& tensors, Reference& reference);
LawOutcome check_equal_partitions(const CaseTensors& tensors, Reference& reference);
LawOutcome check_lse_shift(const CaseTensors& tensors, Reference& reference);
LawOutcome check_value_scaling(const CaseTensors& tensors, Reference& reference);
LawOutcome check_negation(const CaseTensors& tensors, Reference& reference);
LawOutcome check_convexity(const CaseTensors& tensors, Reference& reference);
LawOutcome check_rung_is_runtime(const CaseTensors& tensors, Reference& reference);
LawOutcome check_fast_is_production(const CaseTensors& tensors, Reference& reference);
LawOutcome check_row_independence(const CaseTensors& tensors, Reference& reference);
LawOutcome check_every_output_written(const CaseTensors& tensors, Reference& reference);
LawOutcome check_schedule_order(const CaseTensors& tensors, Reference& reference);
LawOutcome check_hierarchical(const CaseTensors& tensors, Reference& reference);
LawOutcome check_warps_per_head_agree(const CaseTensors& tensors, Reference& reference);
LawOutcome check_ragged_is_dense(const CaseTensors& tensors, Reference& reference);
LawOutcome check_sink_absent(const CaseTensors& tensors, Reference& reference);
LawOutcome check_special_values(const CaseTensors& tensors, Reference& reference);
LawOutcome check_distribution(const CaseTensors& tensors, Reference& reference);
LawOutcome check_frozen_digest(const CaseTensors& tensors, Reference& reference);
LawOutcome check_large_grid(const CaseTensors& tensors, Reference& reference);
LawOutcome check_twin(const CaseTensors& tensors, Reference& reference);

}  // namespace lsecheck
