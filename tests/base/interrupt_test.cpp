// SPDX-License-Identifier: Apache-2.0
#include "loci/base/interrupt.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "loci/base/file.h"

namespace loci {
namespace {

namespace fs = std::filesystem;

// Runs `job` in a child process like main(): interrupts become exit codes.
pid_t start(const std::function<void()>& job) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  catch_interrupts();
  int code = 99;
  try {
    job();
  } catch (const Interrupted& error) {
    code = error.exit_code();
  }
  ::_exit(code);
}

// A job that writes endlessly.
void write_endlessly(const fs::path& folder) {
  AtomicFile file(folder / "video.mp4");
  AtomicDirectory frames(folder / "frames");
  write_file(frames.temporary() / "0.png", "pixels");
  for (;;) {
    file.write("frame");
    check_interrupt();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

class Interrupt : public ::testing::TestWithParam<int> {
 protected:
  Interrupt() { fs::create_directories(folder_); }
  ~Interrupt() override { fs::remove_all(folder_); }

  // Waits until the job has started to write.
  void wait_for_files() const {
    while (fs::is_empty(folder_)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("loci_interrupt_test_" + std::to_string(::getpid()));
};

TEST_P(Interrupt, EndsCleanly) {
  const pid_t child = start([this] { write_endlessly(folder_); });
  wait_for_files();
  ::kill(child, GetParam());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + GetParam());
  EXPECT_TRUE(fs::is_empty(folder_));
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupt, ::testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST_F(Interrupt, SecondSignalEndsTheProcess) {
  // A job that never checks the flag.
  const pid_t child = start([this] {
    AtomicFile file(folder_ / "a");
    for (;;) ::pause();
  });
  wait_for_files();
  int status = 0;
  ::kill(child, SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(::waitpid(child, &status, WNOHANG), 0) << "the first signal ended it";
  ::kill(child, SIGINT);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_F(Interrupt, SecondSigtermDoesNotEndTheProcess) {
  const pid_t child = start([this] {
    AtomicFile file(folder_ / "a");
    while (!fs::exists(folder_ / "finish")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    check_interrupt();
  });
  wait_for_files();
  for (int i = 0; i < 2; ++i) {
    ::kill(child, SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  write_file(folder_ / "finish", "");
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
}

TEST_F(Interrupt, IgnoredSignalsStayIgnored) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGHUP, SIG_IGN);  // as nohup does
    catch_interrupts();
    ::raise(SIGHUP);
    const bool ignored = !interrupted();
    ::raise(SIGTERM);
    ::_exit(ignored && interrupted() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace loci
