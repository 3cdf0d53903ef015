// SPDX-License-Identifier: Apache-2.0
#include "loci/base/interrupt.h"

#include <signal.h>

#include <atomic>

namespace loci {

namespace {

// The received signal, or 0. A lock-free atomic, since a signal handler writes it.
std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

thread_local int deferred = 0;  // number of DeferInterrupts objects

void on_signal(int signal) { received.store(signal, std::memory_order_relaxed); }

}  // namespace

void catch_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = on_signal;
    // Only a second SIGINT ends the process. SIGTERM may arrive twice for one request: from the
    // sender and from the launcher of a process group.
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
