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

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction before {};
  if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_interrupts() {
  // Only a second SIGINT ends the process. SIGTERM may arrive twice for one request: from the
  // sender and from the launcher of a process group.
  handle(SIGINT, on_signal, SA_RESETHAND);
  handle(SIGTERM, on_signal, 0);
  handle(SIGHUP, on_signal, 0);
  // A handler without effect, not SIG_IGN, which child processes would inherit.
  handle(
      SIGPIPE, [](int) {}, SA_RESTART);
}

bool interrupted() { return received.load(std::memory_order_relaxed) != 0; }

DeferInterrupts::DeferInterrupts() { ++deferred; }
DeferInterrupts::~DeferInterrupts() { --deferred; }

void check_interrupt() {
  if (deferred > 0) return;
  if (const int signal = received.load(std::memory_order_relaxed)) throw Interrupted(signal);
}

}  // namespace loci
