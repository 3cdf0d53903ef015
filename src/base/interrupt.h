// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and a closed terminal as a flag that long jobs look at between steps.
#pragma once

#include <stdexcept>

namespace loci {

// Thrown by check_interrupt(); main turns it into an exit code after the stack has unwound, so that
// temporary files are gone.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int signal) : std::runtime_error("interrupted"), signal_(signal) {}
  // As shells report it: 130 after Ctrl-C, 143 after SIGTERM.
  int exit_code() const { return 128 + signal_; }

 private:
  int signal_;
};

// From now on the first SIGINT, SIGTERM or SIGHUP sets the flag; a second SIGINT ends the process at
// once. Signals that the parent had set to be ignored (nohup) stay ignored.
void catch_interrupts();

// Cheap and safe in any thread.
bool interrupted();

// Throws Interrupted when the flag is set.
void check_interrupt();

// While one exists, check_interrupt() of its thread does not throw: for what an interrupt itself
// causes to be written.
class DeferInterrupts {
 public:
  DeferInterrupts();
  ~DeferInterrupts();
  DeferInterrupts(const DeferInterrupts&) = delete;
  DeferInterrupts& operator=(const DeferInterrupts&) = delete;
};

}  // namespace loci
