// SPDX-License-Identifier: Apache-2.0
#include "loci/base/interrupt.h"

#include <signal.h>

#include <csignal>

namespace loci {

namespace {

volatile std::sig_atomic_t interrupt_flag = 0;

void on_signal(int) { interrupt_flag = 1; }

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESETHAND;  // the second signal has its usual effect
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return interrupt_flag != 0; }

void check_interrupt() {
  if (interrupted()) throw Interrupted();
}

}  // namespace loci
