#include "reports/file_output.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "reports/store_error_matcher.h"
#include "reports/temporary_directory.h"

namespace lsecheck {
namespace {

constexpr auto kEnvironment = StoreError::Kind::environment;
constexpr auto kUnreadable = StoreError::Kind::unreadable;

TEST(FileOutputTest, WritesAndReplacesLeavingOneFile) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "out.json", "first");
  write_file_atomically(directory / "out.json", std::string("se\0cond", 7));
  EXPECT_EQ(read_whole_file(directory / "out.json"), std::string("se\0cond", 7));
  EXPECT_EQ(directory.file_count(), 1u);
}

TEST(FileOutputTest, ASymbolicLinkStaysALink) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "target", "old");
  std::filesystem::create_symlink(directory / "target", directory / "link");
  write_file_atomically(directory / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(read_whole_file(directory / "target"), "new");
}

TEST(FileOutputTest, AFullDeviceIsAnEnvironmentErrorAndStaysADevice) {
  expect_store_error(store_error_of([] { write_file_atomically("/dev/full", "text"); }), kEnvironment,
                     {"cannot write /dev/full: No space left on device; ", "free some space"});
  struct stat status {};
  ASSERT_EQ(stat("/dev/full", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(FileOutputTest, UnwritablePlacesAreNamedWithARemedy) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "");
  expect_store_error(store_error_of([&] { write_file_atomically(directory / "file/report.html", "text"); }),
                     kEnvironment, {"file/report.html", "Not a directory", "choose a path inside a directory"});
  expect_store_error(store_error_of([&] { write_file_atomically(directory / "absent/report.html", "text"); }),
                     kEnvironment, {"absent/report.html", "No such file or directory", "create the directory first"});
  expect_store_error(store_error_of([&] { write_file_atomically(directory / "", "text"); }), kEnvironment,
                     {"Is a directory", "give a file name inside it"});
  expect_store_error(store_error_of([] { write_file_atomically("", "text"); }), kEnvironment, {"cannot write"});
  EXPECT_EQ(directory.file_count(), 1u);
}

TEST(FileOutputTest, ReadingRefusesWhatIsNoFile) {
  const TemporaryDirectory directory;
  expect_store_error(store_error_of([&] { read_whole_file(directory / "absent"); }), kUnreadable,
                     {"absent", "no such file"});
  expect_store_error(store_error_of([&] { read_whole_file(directory / ""); }), kUnreadable, {"not a regular file"});
}

}  // namespace
}  // namespace lsecheck
