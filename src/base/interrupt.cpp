// SPDX-License-Identifier: Apache-2.0
#include "loci/base/interrupt.h"

#include <signal.h>

#include <atomic>

namespace loci {

namespace {

// The signal that came, 0 for none. A lock-free atomic may be written by a handler and read by any
// thread.
std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

thread_local int deferred = 0;  // how many DeferInterrupts exist

void on_signal(int signal) { received.store(signal, std::memory_order_relaxed); }

}  // namespace

void catch_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = on_signal;
    // A second Ctrl-C has its usual effect. Who stops a whole group of processes may reach one of
    // them twice, by itself and through its launcher: that is still one wish.
    action.sa_flags = signal == SIGINT ? SA_RESETHAND : 0;
    ::sigaction(signal, &action, nullptr);
  }
}

bool interrupted() { return received.load(std::memory_order_relaxed) != 0; }

DeferInterrupts::DeferInterrupts() { ++deferred; }
DeferInterrupts::~DeferInterrupts() { --deferred; }

void check_interrupt() {
  if (deferred > 0) return;
  if (const int signal = received.load(std::memory_order_relaxed)) throw Interrupted(signal);
}

}  // namespace loci
