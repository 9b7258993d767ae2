#include "properties/certify/certify_launch.h"

#include <stdexcept>

#include "kernels/simt/launch.h"
#include "properties/certify/certify_rows.cuh"

namespace lsecheck::certify {

namespace {

template <class T>
simt::GlobalBuffer input(const char* name, const std::vector<T>& data) {
  // The executor keeps inputs from being written; the cast only fits its one buffer type.
  return {name, const_cast<T*>(data.data()), data.size() * sizeof(T), false};
}

}  // namespace

std::span<const std::uint32_t> ExecutedRows::verdict(std::size_t i) const {
  return std::span(verdicts).subspan(i * kVerdictWords, kVerdictWords);
}

std::span<const std::uint32_t> ExecutedRows::grades_of(std::size_t i) const {
  return std::span(grades).subspan(i * depth * kGradeWords, depth * kGradeWords);
}

ExecutedRows certify_on_executor(const CaseTensors& tensors, std::span<const std::uint32_t> output,
                                 std::span<const std::uint32_t> listed, unsigned jobs) {
  const CaseSpec& spec = tensors.spec;
  const auto rows = static_cast<std::uint32_t>(spec.rows_heads());
  const std::uint32_t blocks = listed.empty() ? rows : static_cast<std::uint32_t>(listed.size());
  ExecutedRows executed;
  executed.depth = spec.ov_depth;
  executed.verdicts.resize(std::size_t{blocks} * kVerdictWords);
  if (!listed.empty()) executed.grades.resize(std::size_t{blocks} * spec.ov_depth * kGradeWords);
  const std::vector<std::uint16_t> packed(output.begin(), output.end());
  const std::vector<std::uint32_t> list(listed.begin(), listed.end());

  const CertifyArguments arguments{tensors.lse_partial.data(),
                                   reinterpret_cast<const float*>(tensors.o_partial.data()),
                                   packed.data(),
                                   spec.num_partitions,
                                   rows,
                                   spec.ov_depth,
                                   sfu::accuracy_of(spec.unit.kind),
                                   list.empty() ? nullptr : list.data(),
                                   executed.verdicts.data(),
                                   executed.grades.empty() ? nullptr : executed.grades.data()};
  simt::Launch launch;
  launch.kernel = "certify_rows";
  launch.grid = {blocks, 1, 1};
  launch.block = {32, 1, 1};
  launch.buffers = {input("lse_partial", tensors.lse_partial),
                    input("o_partial", tensors.o_partial),
                    input("output", packed),
                    {"verdicts", executed.verdicts.data(), executed.verdicts.size() * sizeof(std::uint32_t), true}};
  if (!list.empty()) {
    launch.buffers.push_back(input("listed", list));
    launch.buffers.push_back({"grades", executed.grades.data(), executed.grades.size() * sizeof(std::uint32_t), true});
  }
  launch.arch = spec.arch;
  launch.jobs = jobs;
  if (const auto fault = simt::run(launch, [&] { certify_rows<kColumnsOfALane>(arguments); }))
    throw std::runtime_error(fault->message);
  return executed;
}

}  // namespace lsecheck::certify
