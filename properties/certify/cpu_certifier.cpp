#include <bit>
#include <chrono>
#include <stdexcept>

#include "properties/certify/certify_launch.h"
#include "properties/certify/row_certifier.h"
#include "properties/run_case.h"

namespace lsecheck::certify {

namespace {

class CpuCertifier final : public RowCertifier {
 public:
  CpuCertifier(const Sequence& sequence, unsigned jobs) : sequence_(sequence), jobs_(jobs) {}

  std::uint32_t batch_rows() const override { return 1024; }

  BatchVerdict certify(std::uint64_t first, std::uint32_t count) override {
    const auto begin = std::chrono::steady_clock::now();
    first_ = first;
    tensors_ = draw_rows(sequence_, first, count);
    KernelRun run = run_kernel(tensors_, {.backend = Backend::cpu, .variant = {}, .schedule = {}, .jobs = jobs_});
    if (run.fault) throw std::runtime_error(*run.fault);
    output_ = std::move(run.out_bits);
    const ExecutedRows rows = certify_on_executor(tensors_, output_, {}, jobs_);
    BatchVerdict batch;
    for (std::uint32_t i = 0; i < count; ++i) add_verdict(batch, first + i, rows.verdict(i));
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return batch;
  }

  std::vector<RowRecord> records(std::span<const std::uint64_t> rows) override {
    std::vector<std::uint32_t> listed;
    for (const std::uint64_t row : rows) listed.push_back(static_cast<std::uint32_t>(row - first_));
    if (listed.empty()) return {};
    const ExecutedRows executed = certify_on_executor(tensors_, output_, listed, jobs_);
    std::vector<RowRecord> records;
    for (std::size_t i = 0; i < listed.size(); ++i) {
      RowRecord& record = records.emplace_back();
      for (std::size_t p = 0; p < sequence_.num_partitions; ++p) {
        record.lse.push_back(tensors_.lse_partial[tensors_.lse_index(p, listed[i])]);
        for (std::size_t d = 0; d < sequence_.ov_depth; ++d) {
          record.o.push_back(std::bit_cast<float>(tensors_.o_partial[tensors_.o_index(p, listed[i], d)]));
        }
      }
      const auto from = output_.begin() + static_cast<std::ptrdiff_t>(listed[i]) * sequence_.ov_depth;
      record.output.assign(from, from + sequence_.ov_depth);
      record.grades = read_grades(executed.grades_of(i));
    }
    return records;
  }

  double seconds() const override { return seconds_; }

 private:
  Sequence sequence_;
  unsigned jobs_;
  std::uint64_t first_ = 0;
  CaseTensors tensors_;
  std::vector<std::uint32_t> output_;
  double seconds_ = 0;
};

}  // namespace

std::unique_ptr<RowCertifier> make_cpu_certifier(const Sequence& sequence, unsigned jobs) {
  return std::make_unique<CpuCertifier>(sequence, jobs);
}

}  // namespace lsecheck::certify
