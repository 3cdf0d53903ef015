// SPDX-License-Identifier: Apache-2.0
// Replaces stderr by a pseudo-terminal, to test terminal output.
#pragma once

#include <string>

namespace loci {

class TerminalOnStderr {
 public:
  // Whether the system has pseudo-terminals. A chroot without /dev/pts has none; tests then skip.
  static bool available();

  explicit TerminalOnStderr(int columns);
  ~TerminalOnStderr();
  TerminalOnStderr(const TerminalOnStderr&) = delete;
  TerminalOnStderr& operator=(const TerminalOnStderr&) = delete;

  // The output so far (at most 4 KB, the buffer of a terminal); line ends are "\n".
  std::string text();

 private:
  int saved_stderr_;
  int screen_;
};

}  // namespace loci
