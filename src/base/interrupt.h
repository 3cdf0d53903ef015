// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP set a flag that long jobs check between steps.
#pragma once

#include <stdexcept>

namespace loci {

// Thrown by check_interrupt(). main() converts it to an exit code after the stack has unwound, so
// that temporary files are removed.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int signal) : std::runtime_error("interrupted"), signal_(signal) {}
  // 128 + signal, as shells report it: 130 after Ctrl-C, 143 after SIGTERM.
  int exit_code() const { return 128 + signal_; }

 private:
  int signal_;
};

// Installs the handlers: the first SIGINT, SIGTERM or SIGHUP sets the flag, a second SIGINT ends
// the process immediately. Signals that the parent process ignores (nohup) stay ignored. SIGPIPE
// has no effect: a write to a closed pipe fails with EPIPE, so that a process outlives the reader
// of its log.
void catch_interrupts();

// Cheap and thread-safe.
bool interrupted();

// Throws Interrupted if the flag is set.
void check_interrupt();

// check_interrupt() does not throw in this thread while such an object exists. For files that are
// written because of an interrupt.
class DeferInterrupts {
 public:
  DeferInterrupts();
  ~DeferInterrupts();
  DeferInterrupts(const DeferInterrupts&) = delete;
  DeferInterrupts& operator=(const DeferInterrupts&) = delete;
};

}  // namespace loci
