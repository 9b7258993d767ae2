#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "properties/certify/certify_sequence.h"

// Draws rows of a sequence, runs fa4_splitk_combine on them and certifies its outputs, a batch at a time.
namespace lsecheck::certify {

enum Metric : std::size_t { kUlp, kScaledUlp, kBoundUse };
inline constexpr std::size_t kMetrics = 3;

// The largest value of a metric and the first element of the sequence that has it.
struct Largest {
  float value = 0;
  std::uint64_t row = 0;
  std::uint32_t column = 0;
};
void raise(Largest& largest, const Largest& other);

struct BatchVerdict {
  std::uint64_t open_elements = 0;  // that the enclosures do not decide
  std::uint64_t failing_elements = 0;
  std::array<Largest, kMetrics> largest;  // over the others, which are certified
  std::vector<std::uint64_t> open_rows;   // ascending: rows that hold an open or a failing element
  std::uint64_t unlisted_rows = 0;        // more of them, for which the list had no place
};

// One element, as it was graded: decided is false where it was left open, and then nothing else is said.
struct CertifiedGrade {
  bool decided = false;
  bool below = false;  // the output lies below the exact value
  float ulp = 0;
  float scaled_ulp = 0;
  float bound_use = 0;
  std::uint32_t steps = 0;
  std::uint32_t correctly_rounded = 0;

  bool operator==(const CertifiedGrade&) const = default;
};

// Everything about one row, from where it was judged.
struct RowRecord {
  std::vector<float> lse;              // [P]
  std::vector<float> o;                // [P, D]
  std::vector<std::uint32_t> output;   // [D] bits
  std::vector<CertifiedGrade> grades;  // [D]
};

class RowCertifier {
 public:
  virtual ~RowCertifier() = default;
  virtual std::uint32_t batch_rows() const = 0;
  // Rows [first, first + count), count at most batch_rows().
  virtual BatchVerdict certify(std::uint64_t first, std::uint32_t count) = 0;
  // Of rows of the last batch.
  virtual std::vector<RowRecord> records(std::span<const std::uint64_t> rows) = 0;
  // How long drawing, combining and certifying took so far.
  virtual double seconds() const = 0;
};

// The executor runs both the combine and the certifying kernel. Throws std::runtime_error for a fault of either.
std::unique_ptr<RowCertifier> make_cpu_certifier(const Sequence& sequence, unsigned jobs);

// Rows stay on the device; seconds() by its own clock. Throws cuda::DeviceError.
std::unique_ptr<RowCertifier> make_cuda_certifier(const Sequence& sequence);

// What the kernel of certify_rows.cuh stores, read back: verdicts of rows first + 0, 1, ... and grades of one row.
void add_verdict(BatchVerdict& batch, std::uint64_t row, std::span<const std::uint32_t> words);
std::vector<CertifiedGrade> read_grades(std::span<const std::uint32_t> words);

}  // namespace lsecheck::certify
