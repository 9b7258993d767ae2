#include "properties/certify/certify_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace lsecheck::certify {
namespace {

using testing::HasSubstr;

const Sequence kSequence{.num_partitions = 9, .ov_depth = 64, .seed = 5};

// Passes everything through, and lets a test change what is said of one row.
class TamperedCertifier final : public RowCertifier {
 public:
  using Tamper = std::function<void(RowRecord&)>;
  TamperedCertifier(std::uint64_t row, Tamper tamper) : row_(row), tamper_(std::move(tamper)) {}

  std::uint32_t batch_rows() const override { return 70; }
  BatchVerdict certify(std::uint64_t first, std::uint32_t count) override {
    BatchVerdict batch = certifier_->certify(first, count);
    if (on_verdict && row_ >= first && row_ < first + count) on_verdict(batch);
    return batch;
  }
  std::vector<RowRecord> records(std::span<const std::uint64_t> rows) override {
    std::vector<RowRecord> records = certifier_->records(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] == row_) tamper_(records[i]);
    }
    return records;
  }
  double seconds() const override { return 1; }

  std::function<void(BatchVerdict&)> on_verdict;

 private:
  std::unique_ptr<RowCertifier> certifier_ = make_cpu_certifier(kSequence, 1);
  std::uint64_t row_;
  Tamper tamper_;
};

Result run_with(RowCertifier& certifier, std::uint64_t verify) {
  return certify_rows_of({kSequence, 200, verify}, certifier, [](std::uint64_t) {});
}

TEST(CertifyRun, OrdinaryRowsAreCertified) {
  const auto certifier = make_cpu_certifier(kSequence, 2);
  const Result result = run_with(*certifier, 200);
  EXPECT_TRUE(result.is_clean());
  EXPECT_EQ(result.elements, 200U * 64U);
  EXPECT_EQ(result.certified, result.elements);
  EXPECT_EQ(result.compared_rows, 200U);
  EXPECT_GT(result.compared_elements, result.elements - 10);
  EXPECT_GT(result.largest[kUlp].value, 0.4F);
  EXPECT_LE(result.largest[kBoundUse].value, 1.0F);
}

TEST(CertifyRun, BatchesDoNotMatter) {
  const auto whole = make_cpu_certifier(kSequence, 1);
  TamperedCertifier batches(0, [](RowRecord&) {});
  const Result a = run_with(*whole, 3);
  const Result b = run_with(batches, 3);
  EXPECT_EQ(a.certified, b.certified);
  EXPECT_EQ(b.compared_rows, 3U);
  for (std::size_t metric = 0; metric < kMetrics; ++metric) {
    EXPECT_EQ(a.largest[metric].value, b.largest[metric].value);
    EXPECT_EQ(a.largest[metric].row, b.largest[metric].row);
    EXPECT_EQ(a.largest[metric].column, b.largest[metric].column);
  }
}

TEST(CertifyRun, AnOpenRowIsGradedByTheReference) {
  TamperedCertifier certifier(150, [](RowRecord& record) { record.grades[7] = {}; });
  certifier.on_verdict = [](BatchVerdict& batch) {
    ++batch.open_elements;
    batch.open_rows.push_back(150);
  };
  const Result result = run_with(certifier, 0);
  EXPECT_TRUE(result.is_clean());
  EXPECT_EQ(result.second_tier, 1U);
  EXPECT_EQ(result.compared_rows, 1U);
}

TEST(CertifyRun, AWrongOutputFails) {
  TamperedCertifier certifier(150, [](RowRecord& record) {
    record.output[7] ^= 2;
    record.grades[7] = {};
  });
  certifier.on_verdict = [](BatchVerdict& batch) {
    ++batch.open_elements;
    batch.open_rows.push_back(150);
  };
  const Result result = run_with(certifier, 0);
  EXPECT_FALSE(result.is_clean());
  EXPECT_EQ(result.failing, 1U);
  EXPECT_EQ(result.undecided(), 0U);
  ASSERT_EQ(result.failures.count, 1U);
  EXPECT_THAT(result.failures.first[0], HasSubstr("row-head 150, d 7: got "));
}

TEST(CertifyRun, AGradeThatDiffersIsADisagreement) {
  TamperedCertifier certifier(100, [](RowRecord& record) { record.grades[3].ulp += 0x1p-10F; });
  const Result result = run_with(certifier, 2);
  EXPECT_FALSE(result.is_clean());
  ASSERT_EQ(result.disagreements.count, 1U);
  EXPECT_THAT(result.disagreements.first[0], HasSubstr("row 100, lse1-"));
  EXPECT_THAT(result.disagreements.first[0], HasSubstr("d 3: certified as"));
}

TEST(CertifyRun, OtherInputsAndOutputsAreDisagreements) {
  TamperedCertifier certifier(100, [](RowRecord& record) {
    record.lse[0] += 1;
    record.o[5] = -record.o[5];
    record.output[0] ^= 0x8000;
  });
  const Result result = run_with(certifier, 2);
  EXPECT_FALSE(result.is_clean());
  EXPECT_EQ(result.disagreements.count, 4U) << "LSEs, partials, outputs, and the grade of the output";
}

TEST(CertifyRun, RowsThatAreNotBroughtBackStayUndecided) {
  TamperedCertifier certifier(150, [](RowRecord&) {});
  certifier.on_verdict = [](BatchVerdict& batch) {
    batch.open_elements += 5;
    batch.unlisted_rows = 1;
  };
  const Result result = run_with(certifier, 0);
  EXPECT_FALSE(result.is_clean());
  EXPECT_EQ(result.undecided(), 5U);
  EXPECT_EQ(result.unlisted_rows, 1U);
}

}  // namespace
}  // namespace lsecheck::certify
