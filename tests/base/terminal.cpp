// SPDX-License-Identifier: Apache-2.0
#include "tests/base/terminal.h"

#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "loci/base/error.h"

namespace loci {

bool TerminalOnStderr::available() {
  int screen = -1, line = -1;
  if (::openpty(&screen, &line, nullptr, nullptr, nullptr) != 0) return false;
  ::close(screen);
  ::close(line);
  return true;
}

TerminalOnStderr::TerminalOnStderr(int columns) {
  ::setenv("TERM", "xterm", 1);
  struct winsize size {};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  int line = -1;
  LOCI_CHECK(::openpty(&screen_, &line, nullptr, nullptr, &size) == 0, "no pseudo-terminal");
  struct termios mode {};
  ::tcgetattr(line, &mode);
  mode.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // keep "\n" as it is
  ::tcsetattr(line, TCSANOW, &mode);
  std::fflush(stderr);
  saved_stderr_ = ::dup(STDERR_FILENO);
  ::dup2(line, STDERR_FILENO);
  ::close(line);
}

TerminalOnStderr::~TerminalOnStderr() {
  std::fflush(stderr);
  ::dup2(saved_stderr_, STDERR_FILENO);
  ::close(saved_stderr_);
  ::close(screen_);
}

std::string TerminalOnStderr::text() {
  // The kernel delivers the text asynchronously, so the end is marked and waited for.
  constexpr char kEnd = '\x04';
  std::fputc(kEnd, stderr);
  std::fflush(stderr);
  std::string all;
  while (all.empty() || all.back() != kEnd) {
    struct pollfd screen {
      screen_, POLLIN, 0
    };
    LOCI_CHECK(::poll(&screen, 1, 30'000) == 1, "nothing more arrives after: {}", all);
    char part[1024];
    const ssize_t got = ::read(screen_, part, sizeof(part));
    LOCI_CHECK(got > 0, "the terminal is gone after: {}", all);
    all.append(part, static_cast<size_t>(got));
  }
  all.pop_back();
  return all;
}

}  // namespace loci
