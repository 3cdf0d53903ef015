// SPDX-License-Identifier: Apache-2.0
#include "loci/base/file.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/output_path.h"

#include "tests/base/expect_error.h"

namespace loci {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Every test has its own folder, which is removed afterwards.
class File : public ::testing::Test {
 protected:
  File() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~File() override {
    std::error_code ignored;
    fs::permissions(folder_, fs::perms::owner_all, ignored);
    fs::remove_all(folder_, ignored);
  }

  // The names in the folder, including hidden ones.
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      all.insert(entry.path().filename().string());
    }
    return all;
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("loci_file_test_" + std::to_string(::getpid()));
};

using Names = std::set<std::string>;

TEST_F(File, ReadsWholeFiles) {
  const std::string content("a\0b\n", 4);
  write_file(folder_ / "a", content);
  write_file(folder_ / "empty", "");
  EXPECT_EQ(read_file(folder_ / "a"), content);
  EXPECT_EQ(read_file(folder_ / "empty"), "");
  EXPECT_EQ(read_file(folder_ / "a", 4), content);
  EXPECT_BAD_INPUT(read_file(folder_ / "a", 3), HasSubstr("more than the limit of 3 B"));
  EXPECT_BAD_INPUT(read_file(folder_ / "none"), HasSubstr("No such file"));
  EXPECT_BAD_INPUT(read_file(folder_), HasSubstr("not a regular file"));
  EXPECT_BAD_INPUT(read_file("/dev/zero"), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_BAD_INPUT(read_file(folder_ / "pipe"), HasSubstr("not a regular file"));
}

TEST_F(File, AppearsOnlyWhenCommitted) {
  const fs::path path = folder_ / "video.mp4";
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
    EXPECT_EQ(read_file(path), "old");
    EXPECT_EQ(file.temporary().parent_path(), folder_);
    EXPECT_EQ(file.temporary().extension(), ".mp4");
    EXPECT_EQ(read_file(file.temporary()), "new");
    EXPECT_EQ(names().size(), 2U);
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(names(), Names{"video.mp4"});
  {
    AtomicFile file(path);
    file.write("new");
    file.commit();
    EXPECT_EQ(read_file(path), "new");
    EXPECT_INTERNAL_ERROR(file.commit(), HasSubstr("committed twice"));
  }
  EXPECT_EQ(names(), Names{"video.mp4"});
}

TEST_F(File, LeavesNothingBehindAfterAnException) {
  const auto work = [this] {
    AtomicFile file(folder_ / "a");
    AtomicDirectory directory(folder_ / "b");
    write_file(directory.temporary() / "c", "c");
    fail("something else went wrong");
  };
  EXPECT_BAD_INPUT(work(), HasSubstr("something else"));
  EXPECT_EQ(names(), Names{});
}

TEST_F(File, RemovesOnlyLeftoversOfKilledProcesses) {
  const fs::path folder = folder_ / "swept";
  fs::create_directories(folder);
  // A process is killed while it writes a file and a folder.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const AtomicFile file(folder / "video.mp4");
    const AtomicDirectory directory(folder / "clips");
    std::ofstream(directory.temporary() / "a") << "a";
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto count = [&] {
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
  };
  EXPECT_EQ(count(), 2);
  // Files of other programs and of running processes stay.
  for (const char* name :
       {".notes", ".video.12345678.mp4", ".a.loci-xyz.mp4", "a.loci-12345678.b"}) {
    std::ofstream(folder / name) << "kept";
  }
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready) + ::pipe(done), 0);
  const pid_t living = ::fork();
  ASSERT_GE(living, 0);
  if (living == 0) {
    ::close(done[1]);
    char byte = 0;
    {
      const AtomicFile file(
          folder / "b.mp4");  // removes leftovers: the first write of this process to the folder
      const AtomicDirectory directory(folder / "c");
      if (::write(ready[1], &byte, 1) != 1 || ::read(done[0], &byte, 1) != 0) byte = 1;
    }
    ::_exit(byte);
  }
  ::close(done[0]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(count(), 4 + 2);
  write_file(folder / "d", "d");  // also removes leftovers
  EXPECT_EQ(count(), 4 + 2 + 1);
  ::close(done[1]);
  ASSERT_EQ(::waitpid(living, &status, 0), living);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(count(), 4 + 1);
}

TEST_F(File, RespectsTheUmask) {
  const mode_t before = ::umask(027);
  write_file(folder_ / "a", "a");
  AtomicDirectory directory(folder_ / "b");
  directory.commit();
  ::umask(before);
  EXPECT_EQ(fs::status(folder_ / "a").permissions(), fs::perms{0640});
  EXPECT_EQ(fs::status(folder_ / "b").permissions(), fs::perms{0750});
}

TEST_F(File, ConcurrentWritersDoNotMix) {
  AtomicFile one(folder_ / "a");
  AtomicFile two(folder_ / "a");
  one.write("one");
  two.write("two");
  two.commit();
  one.commit();
  EXPECT_EQ(read_file(folder_ / "a"), "one");
  EXPECT_EQ(names(), Names{"a"});
}

TEST_F(File, FollowsSymbolicLinks) {
  fs::create_directory(folder_ / "there");
  write_file(folder_ / "there" / "target", "old");
  fs::create_symlink("there/target", folder_ / "link");
  write_file(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_file(folder_ / "there" / "target"), "new");
}

TEST_F(File, CopesWithSymbolicLinksToThemselves) {
  const fs::path loop = folder_ / "loop";
  fs::create_symlink("loop", loop);
  EXPECT_BAD_INPUT(read_file(loop), HasSubstr("symbolic links"));
  EXPECT_BAD_INPUT(write_file(loop, "x"), HasSubstr("symbolic links"));
}

TEST_F(File, RejectsUnwritablePaths) {
  EXPECT_BAD_INPUT(AtomicFile(folder_ / "none" / "a"),
                   AllOf(HasSubstr("does not exist"), HasSubstr((folder_ / "none").string())));
  EXPECT_BAD_INPUT(AtomicFile(fs::path{}), HasSubstr("without a file name"));
  EXPECT_BAD_INPUT(AtomicFile(folder_ / ""), HasSubstr("without a file name"));
  EXPECT_BAD_INPUT(AtomicFile{folder_}, HasSubstr("it is a folder"));
  // Root could otherwise replace a device by a file.
  EXPECT_BAD_INPUT(AtomicFile("/dev/null"), HasSubstr("not a regular file"));
  // Read-only even for root.
  EXPECT_BAD_INPUT(AtomicFile("/proc/self/loci"), HasSubstr("cannot write /proc/self/loci"));
  EXPECT_BAD_INPUT(AtomicDirectory(folder_ / "none" / "a"), HasSubstr("does not exist"));
  EXPECT_BAD_INPUT(AtomicDirectory("/proc/self/loci"), HasSubstr("cannot write /proc/self/loci"));
  EXPECT_BAD_INPUT(AtomicDirectory(folder_ / ".."), HasSubstr("without a file name"));
}

TEST_F(File, RejectsReadOnlyFolders) {
  fs::permissions(folder_, fs::perms{0555});
  // Root may write to any folder, so the test runs as another user.
  constexpr uid_t kNobody = 65534;
  const bool root = ::geteuid() == 0;
  ASSERT_EQ(root ? ::seteuid(kNobody) : 0, 0);
  EXPECT_BAD_INPUT(AtomicFile(folder_ / "a"),
                   AllOf(HasSubstr("Permission denied"), HasSubstr("a folder you may write to")));
  EXPECT_BAD_INPUT(AtomicDirectory(folder_ / "b"), HasSubstr("Permission denied"));
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
}

TEST_F(File, AcceptsTheLongestNames) {
  const std::string longest = std::string(251, 'n') + ".mp4";
  write_file(folder_ / longest, "a");
  EXPECT_EQ(names(), Names{longest});
  EXPECT_BAD_INPUT(write_file(folder_ / (longest + "x"), "a"), HasSubstr("name too long"));
  EXPECT_EQ(names(), Names{longest});
}

TEST_F(File, ReportsAFullDisk) {
  const fs::path disk = folder_ / "disk";
  fs::create_directory(disk);
  if (::mount("none", disk.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "needs root to mount a file system of 64 KiB";
  }
  write_file(disk / "a", "old");
  EXPECT_MACHINE_ERROR(write_file(disk / "a", std::string(200'000, 'x')),
                       AllOf(HasSubstr("the disk is full"), HasSubstr((disk / "a").string())));
  EXPECT_EQ(read_file(disk / "a"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(disk), {}), 1);
  ::umount(disk.c_str());
}

TEST_F(File, MakesMissingParents) {
  make_folders(folder_ / "a" / "b" / "c/");
  EXPECT_TRUE(fs::is_directory(folder_ / "a" / "b" / "c"));
  make_folders(folder_ / "a" / "b");  // exists
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  make_folders("relative/inner");
  make_folders(".");
  fs::current_path(before);
  EXPECT_TRUE(fs::is_directory(folder_ / "relative" / "inner"));
  write_file(folder_ / "file", "");
  EXPECT_BAD_INPUT(make_folders(folder_ / "file"),
                   AllOf(HasSubstr("file"), HasSubstr("give another name")));
  EXPECT_BAD_INPUT(make_folders(folder_ / "file" / "inner"), HasSubstr("give another name"));
}

TEST_F(File, CreatesFoldersAtomically) {
  const fs::path path = folder_ / "frames";
  {
    AtomicDirectory directory(path / "");  // "frames/" means "frames"
    EXPECT_EQ(directory.path(), path);
    fs::create_directory(directory.temporary() / "deep");
    write_file(directory.temporary() / "deep" / "0.png", "0");
    EXPECT_FALSE(fs::exists(path));
    directory.commit();
    EXPECT_EQ(read_file(path / "deep" / "0.png"), "0");
    EXPECT_INTERNAL_ERROR(directory.commit(), HasSubstr("committed twice"));
  }
  EXPECT_EQ(names(), Names{"frames"});
}

TEST_F(File, KeepsFoldersThatAreNotEmpty) {
  const fs::path path = folder_ / "home";
  fs::create_directory(path);
  {
    AtomicDirectory directory(path);  // an empty folder may be replaced
    write_file(directory.temporary() / "a", "a");
    directory.commit();
  }
  EXPECT_BAD_INPUT(AtomicDirectory{path}, HasSubstr("the folder is not empty"));
  EXPECT_EQ(read_file(path / "a"), "a");
  {
    AtomicDirectory directory(path, AtomicDirectory::Existing::kReplace);
    write_file(directory.temporary() / "b", "b");
    EXPECT_TRUE(fs::exists(path / "a"));
    directory.commit();
  }
  EXPECT_FALSE(fs::exists(path / "a"));
  EXPECT_EQ(read_file(path / "b"), "b");
  EXPECT_EQ(names(), Names{"home"});
  write_file(folder_ / "file", "f");
  EXPECT_BAD_INPUT(AtomicDirectory(folder_ / "file", AtomicDirectory::Existing::kReplace),
                   HasSubstr("it is a file"));
}

TEST_F(File, RemovesFoldersAtomically) {
  const fs::path path = folder_ / "old";
  const auto make = [&] {
    fs::create_directories(path / "deep");
    write_file(path / "deep" / "a", "a");
  };
  make();
  remove_folder(path);
  EXPECT_EQ(names(), Names{});
  // The removal fails at a file that cannot be removed.
  make();
  const bool root = ::geteuid() == 0;
  if (root && ::mount("tmpfs", (path / "deep").c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "cannot mount";
  }
  if (!root) fs::permissions(path / "deep", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THROW(remove_folder(path), fs::filesystem_error);
  EXPECT_FALSE(fs::exists(path));
  ASSERT_EQ(names().size(), 1u);
  const fs::path rest = folder_ / *names().begin() / "deep";
  if (root) ::umount(rest.c_str());
  if (!root) fs::permissions(rest, fs::perms::owner_all);
}

TEST_F(File, DetectsAFolderThatWasFilledConcurrently) {
  const fs::path path = folder_ / "out";
  AtomicDirectory directory(path);
  fs::create_directory(path);
  write_file(path / "precious", "p");
  EXPECT_THROW(directory.commit(), Error);
  EXPECT_EQ(read_file(path / "precious"), "p");
}

}  // namespace
}  // namespace loci
