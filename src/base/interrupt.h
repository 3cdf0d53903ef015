// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM as a flag that long jobs look at between steps.
#pragma once

#include <stdexcept>

namespace loci {

// Thrown by check_interrupt(); main turns it into exit code 130 after the stack has unwound, so
// that temporary files are gone.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// From now on the first SIGINT or SIGTERM sets the flag; a second one ends the process at once.
void catch_interrupts();

bool interrupted();

// Throws Interrupted when the flag is set.
void check_interrupt();

}  // namespace loci
