#include <algorithm>
#include <cstring>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/cuda_event.h"
#include "kernels/cuda/device_combine.h"
#include "properties/case_kernel.h"
#include "properties/certify/certify_rows.cuh"
#include "properties/certify/row_certifier.h"
#include "properties/ordinary_rows.h"

// Rows are drawn, combined and certified where they lie; a batch's counts, maxima and open rows come back.
namespace lsecheck::certify {

namespace {

using lsecheck::cuda::check;
using lsecheck::cuda::DeviceCombine;
using lsecheck::cuda::DeviceMemory;
using lsecheck::cuda::Event;
using lsecheck::cuda::Stream;

constexpr unsigned kThreads = 256;
constexpr unsigned kValuesPerThread = 4;
constexpr std::size_t kPartialBytes = std::size_t{1} << 31;  // of one batch
constexpr unsigned kListedRows = 1U << 14;

// Where a batch lies in its sequence.
struct Place {
  std::uint64_t first_case_seed;
  unsigned first_row_in_case;
};
struct CaseRow {
  std::uint64_t seed;
  std::uint64_t rh;
};
__device__ CaseRow case_row(const Place& place, unsigned row) {
  const unsigned at = place.first_row_in_case + row;
  return {place.first_case_seed + at / kRowsPerCase, at % kRowsPerCase};
}

// A thread draws one LSE; those of partition 0 draw the scale of their row's values too.
__global__ void draw_lse(Place place, unsigned num_partitions, unsigned rows, float* lse_partial, float* scales) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  const unsigned p = blockIdx.y;
  if (row >= rows || p >= num_partitions) return;
  const CaseRow at = case_row(place, row);
  lse_partial[std::size_t{p} * rows + row] = narrow_lse_at(at.seed, at.rh, p);
  if (p == 0) scales[row] = normal_row_scale_at(at.seed, at.rh);
}

// A thread draws kValuesPerThread neighbours of one partition of one row.
__global__ void draw_values(Place place, unsigned rows, unsigned depth, const float* scales, float* o_partial) {
  const unsigned per_row = depth / kValuesPerThread;
  const unsigned thread = blockIdx.x * kThreads + threadIdx.x;
  const unsigned row = thread / per_row;
  if (row >= rows) return;
  const unsigned p = blockIdx.y;
  const unsigned first = thread % per_row * kValuesPerThread;
  const CaseRow at = case_row(place, row);
  const float scale = scales[row];
  float4 values;
  values.x = normal_value_at(scale, at.seed, at.rh, p, first);
  values.y = normal_value_at(scale, at.seed, at.rh, p, first + 1);
  values.z = normal_value_at(scale, at.seed, at.rh, p, first + 2);
  values.w = normal_value_at(scale, at.seed, at.rh, p, first + 3);
  *reinterpret_cast<float4*>(o_partial + (std::size_t{p} * rows + row) * depth + first) = values;
}

// Of a batch. Maxima as 64-bit numbers that compare like (value, the smaller element): values are not negative.
struct BatchTally {
  unsigned long long open, failing, open_rows;
  unsigned long long largest[kMetrics];
  std::uint32_t listed[kListedRows];
};

__device__ unsigned long long sum_over_warp(unsigned value) {
  return __reduce_add_sync(0xffffffffU, value);
}

// Adds the verdicts of all rows to the tally.
__global__ void gather_verdicts(const std::uint32_t* verdicts, unsigned rows, unsigned depth, BatchTally* tally) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  const bool exists = row < rows;
  const std::uint32_t* const verdict = verdicts + std::size_t{exists ? row : 0} * kVerdictWords;
  const unsigned open = exists ? verdict[kOpenElements] : 0;
  const unsigned failing = exists ? verdict[kFailingElements] : 0;
  if (open + failing > 0) {
    const unsigned long long place = atomicAdd(&tally->open_rows, 1ULL);
    if (place < kListedRows) tally->listed[place] = row;
  }
  const unsigned long long all_open = sum_over_warp(open);
  const unsigned long long all_failing = sum_over_warp(failing);
  if (threadIdx.x % 32 == 0) {
    if (all_open > 0) atomicAdd(&tally->open, all_open);
    if (all_failing > 0) atomicAdd(&tally->failing, all_failing);
  }
  for (unsigned metric = 0; exists && metric < kMetrics; ++metric) {
    const std::uint32_t* const largest = verdict + kLargestUlp + 2 * metric;
    const unsigned element = row * depth + largest[1];
    const unsigned long long key = (static_cast<unsigned long long>(largest[0]) << 32) | (0xffffffffU - element);
    if (key > tally->largest[metric]) atomicMax(&tally->largest[metric], key);
  }
}

// One block per listed row: its LSEs, values and outputs side by side.
__global__ void copy_rows(CertifyArguments batch, float* lse, float* o, std::uint16_t* output) {
  const std::size_t row = batch.listed[blockIdx.x];
  const auto num_partitions = static_cast<unsigned>(batch.num_partitions);
  const auto depth = static_cast<unsigned>(batch.ov_depth);
  const std::size_t to = blockIdx.x;
  for (unsigned p = threadIdx.x; p < num_partitions; p += blockDim.x) {
    lse[to * num_partitions + p] = batch.lse_partial[std::size_t{p} * batch.rows + row];
  }
  for (unsigned i = threadIdx.x; i < num_partitions * depth; i += blockDim.x) {
    const std::size_t p = i / depth;
    o[to * num_partitions * depth + i] = batch.o_partial[(p * batch.rows + row) * depth + i % depth];
  }
  for (unsigned d = threadIdx.x; d < depth; d += blockDim.x) output[to * depth + d] = batch.output[row * depth + d];
}

template <class T>
std::vector<T> fetched(const DeviceMemory& memory) {
  std::vector<T> host(memory.bytes() / sizeof(T));
  check(cudaMemcpy(host.data(), memory.data(), memory.bytes(), cudaMemcpyDeviceToHost), "fetching rows");
  return host;
}

// The batch size that fills kPartialBytes, and whose elements have 32-bit numbers.
std::uint32_t rows_that_fit(const Sequence& sequence) {
  return static_cast<std::uint32_t>(kPartialBytes / sizeof(float) / sequence.num_partitions / sequence.ov_depth);
}

class CudaCertifier final : public RowCertifier {
 public:
  explicit CudaCertifier(const Sequence& sequence)
      : sequence_(sequence),
        capacity_(rows_that_fit(sequence)),
        lse_(std::size_t{capacity_} * sequence.num_partitions * sizeof(float)),
        o_(std::size_t{capacity_} * sequence.num_partitions * sequence.ov_depth * sizeof(float)),
        output_(std::size_t{capacity_} * sequence.ov_depth * sizeof(std::uint16_t)),
        scales_(std::size_t{capacity_} * sizeof(float)),
        verdicts_(std::size_t{capacity_} * kVerdictWords * sizeof(std::uint32_t)),
        tally_(sizeof(BatchTally)) {
    certify(0, 1);  // loads the kernels
    seconds_ = 0;
  }

  std::uint32_t batch_rows() const override { return capacity_; }
  double seconds() const override { return seconds_; }

  BatchVerdict certify(std::uint64_t first, std::uint32_t count) override {
    first_ = first;
    count_ = count;
    const DeviceCombine combine = combine_of_batch();
    check(cudaMemsetAsync(tally_.data(), 0, tally_.bytes(), stream_.get()), "clearing the tally");
    check(cudaMemsetAsync(output_.data(), 0xff, output_.bytes(), stream_.get()), "poisoning the outputs");
    check(cudaEventRecord(begin_.get(), stream_.get()), "timing");
    draw();
    combine.enqueue({.lse_partial = lse_.data(), .o_partial = o_.data(), .output = output_.data()}, stream_.get());
    certify_rows<kColumnsOfALane><<<count_, 32, 0, stream_.get()>>>(arguments());
    check(cudaGetLastError(), "certifying");
    gather_verdicts<<<blocks_of(count_), kThreads, 0, stream_.get()>>>(
        static_cast<const std::uint32_t*>(verdicts_.data()), count_, sequence_.ov_depth, tally());
    check(cudaGetLastError(), "gathering the verdicts");
    check(cudaEventRecord(end_.get(), stream_.get()), "timing");
    lsecheck::cuda::wait_for(stream_.get(), combine.name + " and its certification");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "timing");
    seconds_ += static_cast<double>(milliseconds) * 1e-3;
    return fetch_verdict();
  }

  std::vector<RowRecord> records(std::span<const std::uint64_t> rows) override {
    const std::size_t num_partitions = sequence_.num_partitions;
    const std::size_t depth = sequence_.ov_depth;
    const std::size_t n = rows.size();
    std::vector<std::uint32_t> list;
    for (const std::uint64_t row : rows) list.push_back(static_cast<std::uint32_t>(row - first_));
    const DeviceMemory listed(n * sizeof(std::uint32_t));
    const DeviceMemory verdicts(n * kVerdictWords * sizeof(std::uint32_t));
    const DeviceMemory grades(n * depth * kGradeWords * sizeof(std::uint32_t));
    const DeviceMemory lse(n * num_partitions * sizeof(float));
    const DeviceMemory o(n * num_partitions * depth * sizeof(float));
    const DeviceMemory output(n * depth * sizeof(std::uint16_t));
    check(cudaMemcpyAsync(listed.data(), list.data(), listed.bytes(), cudaMemcpyHostToDevice, stream_.get()),
          "listing rows");
    CertifyArguments batch = arguments();
    batch.listed = static_cast<const std::uint32_t*>(listed.data());
    batch.verdicts = static_cast<std::uint32_t*>(verdicts.data());
    batch.grades = static_cast<std::uint32_t*>(grades.data());
    const auto blocks = static_cast<unsigned>(n);
    certify_rows<kColumnsOfALane><<<blocks, 32, 0, stream_.get()>>>(batch);
    check(cudaGetLastError(), "certifying listed rows");
    copy_rows<<<blocks, kThreads, 0, stream_.get()>>>(batch, static_cast<float*>(lse.data()),
                                                      static_cast<float*>(o.data()),
                                                      static_cast<std::uint16_t*>(output.data()));
    check(cudaGetLastError(), "copying listed rows");
    lsecheck::cuda::wait_for(stream_.get(), "the certification of listed rows");

    const auto all_lse = fetched<float>(lse);
    const auto all_o = fetched<float>(o);
    const auto all_output = fetched<std::uint16_t>(output);
    const auto all_grades = fetched<std::uint32_t>(grades);
    std::vector<RowRecord> records(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto part = [i](const auto& all, std::size_t size) { return std::span(all).subspan(i * size, size); };
      const auto copy = [](auto& to, const auto& from) { to.assign(from.begin(), from.end()); };
      copy(records[i].lse, part(all_lse, num_partitions));
      copy(records[i].o, part(all_o, num_partitions * depth));
      copy(records[i].output, part(all_output, depth));
      records[i].grades = read_grades(part(all_grades, depth * kGradeWords));
    }
    return records;
  }

 private:
  static unsigned blocks_of(std::size_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }
  BatchTally* tally() const { return static_cast<BatchTally*>(tally_.data()); }

  DeviceCombine combine_of_batch() const {
    CaseSpec spec = sequence_.case_of(first_);
    spec.rows = count_;
    return lsecheck::cuda::on_device(kernel_of(spec).name(), shape_of(spec), variant_of(spec));
  }

  CertifyArguments arguments() const {
    return {static_cast<const float*>(lse_.data()),
            static_cast<const float*>(o_.data()),
            static_cast<const std::uint16_t*>(output_.data()),
            sequence_.num_partitions,
            count_,
            sequence_.ov_depth,
            sfu::accuracy_of(sfu::UnitKind::h200),
            nullptr,
            static_cast<std::uint32_t*>(verdicts_.data()),
            nullptr};
  }

  void draw() const {
    const Place place{sequence_.case_seed(first_), static_cast<unsigned>(first_ % kRowsPerCase)};
    const unsigned depth = sequence_.ov_depth;
    auto* const scales = static_cast<float*>(scales_.data());
    draw_lse<<<{blocks_of(count_), sequence_.num_partitions, 1}, kThreads, 0, stream_.get()>>>(
        place, sequence_.num_partitions, count_, static_cast<float*>(lse_.data()), scales);
    check(cudaGetLastError(), "drawing LSEs");
    const std::size_t threads = std::size_t{count_} * (depth / kValuesPerThread);
    draw_values<<<{blocks_of(threads), sequence_.num_partitions, 1}, kThreads, 0, stream_.get()>>>(
        place, count_, depth, scales, static_cast<float*>(o_.data()));
    check(cudaGetLastError(), "drawing values");
  }

  BatchVerdict fetch_verdict() const {
    const auto counted = std::make_unique<BatchTally>();
    check(cudaMemcpy(counted.get(), tally_.data(), sizeof(BatchTally), cudaMemcpyDeviceToHost), "the tally");
    BatchVerdict batch;
    batch.open_elements = counted->open;
    batch.failing_elements = counted->failing;
    const auto listed = static_cast<std::ptrdiff_t>(std::min<unsigned long long>(counted->open_rows, kListedRows));
    for (std::ptrdiff_t i = 0; i < listed; ++i) batch.open_rows.push_back(first_ + counted->listed[i]);
    std::sort(batch.open_rows.begin(), batch.open_rows.end());
    batch.unlisted_rows = counted->open_rows - static_cast<unsigned long long>(listed);
    for (std::size_t metric = 0; metric < kMetrics; ++metric) {
      const unsigned long long key = counted->largest[metric];
      const auto value_bits = static_cast<std::uint32_t>(key >> 32);
      const std::uint32_t element = 0xffffffffU - static_cast<std::uint32_t>(key);
      Largest largest{0, first_ + element / sequence_.ov_depth, element % sequence_.ov_depth};
      std::memcpy(&largest.value, &value_bits, sizeof(float));
      raise(batch.largest[metric], largest);
    }
    return batch;
  }

  Sequence sequence_;
  std::uint32_t capacity_;
  std::uint64_t first_ = 0;
  std::uint32_t count_ = 0;
  DeviceMemory lse_, o_, output_, scales_, verdicts_, tally_;
  Stream stream_;
  Event begin_, end_;
  double seconds_ = 0;
};

}  // namespace

std::unique_ptr<RowCertifier> make_cuda_certifier(const Sequence& sequence) {
  lsecheck::cuda::require_device();
  return std::make_unique<CudaCertifier>(sequence);
}

}  // namespace lsecheck::certify
