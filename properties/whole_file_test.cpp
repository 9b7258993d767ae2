#include "properties/whole_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <optional>

#include "properties/temporary_directory.h"

namespace lsecheck {
namespace {

template <typename Action>
void expect_file_error(Action action, FileErrorKind kind, std::initializer_list<const char*> parts) {
  std::optional<FileError> error;
  try {
    action();
  } catch (const FileError& thrown) {
    error = thrown;
  }
  ASSERT_TRUE(error.has_value());
  const std::string message = error->what();
  EXPECT_EQ(error->kind(), kind) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  for (const char* part : parts) EXPECT_NE(message.find(part), std::string::npos) << message << " lacks " << part;
}

TEST(WholeFileTest, WritesAndReplacesLeavingOneFile) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "out.json", "first");
  write_file_atomically(directory / "out.json", std::string("se\0cond", 7));
  EXPECT_EQ(read_whole_text(directory / "out.json"), std::string("se\0cond", 7));
  EXPECT_EQ(directory.file_count(), 1u);
}

TEST(WholeFileTest, ASymbolicLinkStaysALink) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "target", "old");
  std::filesystem::create_symlink(directory / "target", directory / "link");
  write_file_atomically(directory / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(read_whole_text(directory / "target"), "new");
}

TEST(WholeFileTest, AFullDeviceIsAnEnvironmentErrorAndStaysADevice) {
  expect_file_error([] { write_file_atomically("/dev/full", "text"); }, FileErrorKind::environment,
                    {"/dev/full: cannot write: No space left on device; ", "free some space"});
  struct stat status {};
  ASSERT_EQ(stat("/dev/full", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(WholeFileTest, UnwritablePlacesAreNamedWithARemedy) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "");
  expect_file_error([&] { write_file_atomically(directory / "file/report.html", "text"); }, FileErrorKind::environment,
                    {"file/report.html", "Not a directory", "choose a path inside a directory"});
  expect_file_error([&] { write_file_atomically(directory / "absent/report.html", "text"); },
                    FileErrorKind::environment,
                    {"absent/report.html", "No such file or directory", "create the directory first"});
  expect_file_error([&] { write_file_atomically(directory / "", "text"); }, FileErrorKind::environment,
                    {"Is a directory", "give a file name inside it"});
  expect_file_error([] { write_file_atomically("", "text"); }, FileErrorKind::environment, {"cannot write"});
  EXPECT_EQ(directory.file_count(), 1u);
}

TEST(WholeFileTest, WhatCanBeWrittenIsFoundOutWithoutATrace) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "out.json", "earlier");
  std::filesystem::create_symlink(directory / "out.json", directory / "link");
  for (const char* name : {"out.json", "link", "new.json"}) check_file_writable(directory / name);
  for (const char* name : {"", "new", "new/and/deeper"}) check_folder_writable(directory / name);
  EXPECT_EQ(read_whole_text(directory / "out.json"), "earlier");
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(directory.file_count(), 2u);
}

// Nobody reads from the pipe: to open it would wait forever.
TEST(WholeFileTest, APipeIsNotOpenedToFindOut) {
  const TemporaryDirectory directory;
  ASSERT_EQ(mkfifo((directory / "pipe").c_str(), 0600), 0);
  check_file_writable(directory / "pipe");
}

TEST(WholeFileTest, WhatCannotBeWrittenIsFoundOut) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "file", "");
  expect_file_error([&] { check_file_writable(directory / "absent/r.json"); }, FileErrorKind::environment,
                    {"absent/r.json: cannot write: No such file", "create the directory first"});
  expect_file_error([&] { check_file_writable(directory / ""); }, FileErrorKind::environment, {"Is a directory"});
  expect_file_error([] { check_file_writable(""); }, FileErrorKind::environment, {"cannot write"});
  expect_file_error([] { check_folder_writable("/dev/null/f"); }, FileErrorKind::environment,
                    {"/dev/null/f: cannot write: Not a directory; a part of the path is a file"});
  expect_file_error([&] { check_folder_writable(directory / "file"); }, FileErrorKind::environment,
                    {"file: cannot write: Not a directory"});
  EXPECT_EQ(directory.file_count(), 1u);
}

TEST(WholeFileTest, AFolderWithoutPermissionIsFoundOut) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "closed");
  std::filesystem::permissions(directory / "closed", std::filesystem::perms::owner_read);
  for (const char* name : {"closed", "closed/deeper"}) {
    expect_file_error([&] { check_folder_writable(directory / name); }, FileErrorKind::environment,
                      {"cannot write: Permission denied; choose a path you may write to"});
  }
  std::filesystem::permissions(directory / "closed", std::filesystem::perms::owner_all);
}

TEST(WholeFileTest, ReadingRefusesWhatIsNoFileAndWhatIsTooLarge) {
  const TemporaryDirectory directory;
  expect_file_error([&] { read_whole_text(directory / "absent"); }, FileErrorKind::unreadable,
                    {"absent: cannot open: No such file"});
  expect_file_error([&] { read_whole_text(directory / ""); }, FileErrorKind::unreadable, {"not a regular file"});
  write_file_atomically(directory / "five", "12345");
  EXPECT_EQ(read_whole_file(directory / "five", 5).size(), 5u);
  expect_file_error([&] { read_whole_file(directory / "five", 4); }, FileErrorKind::unreadable,
                    {"5 bytes are more than the memory limit of 4 bytes"});
}

}  // namespace
}  // namespace lsecheck
