// SPDX-License-Identifier: Apache-2.0
#include "loci/base/file_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"

#include "tests/base/expect_error.h"

namespace loci {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class FolderLock : public ::testing::Test {
 protected:
  FolderLock() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~FolderLock() override { fs::remove_all(folder_); }

  // The exit code of a process that runs `action`.
  template <typename Action>
  static int in_child(Action action) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(action());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("loci_folder_lock_" + std::to_string(::getpid()));
};

TEST_F(FolderLock, ASecondProcessIsToldWhoHoldsIt) {
  std::optional<FileLock> lock = FileLock::lock_folder(folder_, "wait");
  EXPECT_TRUE(*lock);
  const std::string process = "process " + std::to_string(::getpid());
  const int code = in_child([&] {
    try {
      FileLock::lock_folder(folder_, "come back later");
      return 0;
    } catch (const Error& error) {
      const std::string text = error.what();
      const bool complete = text.find(process) != std::string::npos &&
                            text.find("loci_base_tests") != std::string::npos &&
                            text.find("come back later") != std::string::npos &&
                            text.find('\n') == std::string::npos;
      return complete && error.kind() == ErrorKind::kBadInput ? 7 : 8;
    }
  });
  EXPECT_EQ(code, 7);
  lock.reset();
  EXPECT_EQ(read_file(folder_ / "lock"), "");
  EXPECT_TRUE(FileLock::lock_folder(folder_, "wait"));
}

TEST_F(FolderLock, EndsWithItsProcess) {
  // The process ends without calling destructors, as if it had been killed.
  EXPECT_EQ(in_child([&] {
              auto* const held = new FileLock(FileLock::lock_folder(folder_, "wait"));
              return *held ? 7 : 8;
            }),
            7);
  EXPECT_THAT(read_file(folder_ / "lock"), HasSubstr("process "));
  const FileLock lock = FileLock::lock_folder(folder_, "wait");
  EXPECT_THAT(read_file(folder_ / "lock"),
              HasSubstr("process " + std::to_string(::getpid()) + " "));
}

TEST_F(FolderLock, IsNotHeldOnARemovedFile) {
  // A process that gives up its run removes the file while it holds the lock.
  const FileLock removed = FileLock::lock_folder(folder_, "wait");
  fs::remove(folder_ / "lock");
  const FileLock lock = FileLock::lock_folder(folder_, "wait");
  EXPECT_BAD_INPUT(FileLock::lock_folder(folder_, "wait"), HasSubstr("is in use by process"));
}

TEST_F(FolderLock, AFolderThatCannotBeWrittenIsReported) {
  EXPECT_BAD_INPUT(FileLock::lock_folder(folder_ / "absent", "wait"),
                   AllOf(HasSubstr("cannot write"), HasSubstr("absent")));
}

TEST_F(FolderLock, TryLockReturnsAnEmptyLock) {
  EXPECT_FALSE(FileLock::try_lock(folder_ / "absent"));
  write_file(folder_ / "file", "");
  const FileLock first = FileLock::try_lock(folder_ / "file");
  EXPECT_TRUE(first);
  EXPECT_FALSE(FileLock::try_lock(folder_ / "file"));
}

}  // namespace
}  // namespace loci
