// SPDX-License-Identifier: Apache-2.0
// A pseudo-terminal in the place of stderr, to test what users see on a screen.
#pragma once

#include <string>

namespace loci {

class TerminalOnStderr {
 public:
  // Whether the system has any: a chroot without /dev/pts has none, and tests that need one skip.
  static bool available();

  explicit TerminalOnStderr(int columns);
  ~TerminalOnStderr();
  TerminalOnStderr(const TerminalOnStderr&) = delete;
  TerminalOnStderr& operator=(const TerminalOnStderr&) = delete;

  // What was written so far (at most the 4 KB a terminal buffers); line ends are "\n".
  std::string text();

 private:
  int saved_stderr_;
  int screen_;
};

}  // namespace loci
