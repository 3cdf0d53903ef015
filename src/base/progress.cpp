// SPDX-License-Identifier: Apache-2.0
#include "loci/base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "loci/base/text.h"

namespace loci {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTerminalInterval{100};
constexpr milliseconds kPlainInterval{5000};
constexpr size_t kBarWidth = 24;

std::atomic<bool> progress_enabled{true};

// The bar now on the terminal, if any; at most one at a time is drawn there.
std::recursive_mutex terminal_mutex;
Progress* on_screen = nullptr;

void erase_line() { std::fputs("\r\033[K", stderr); }

}  // namespace

void set_progress_enabled(bool enabled) { progress_enabled = enabled; }

std::string format_progress(const ProgressState& state, size_t bar_width) {
  const double rate = state.seconds > 0 ? static_cast<double>(state.done) / state.seconds : 0;
  std::string line = state.title;
  if (state.total > 0) {
    const double share = std::min(1.0, static_cast<double>(state.done) / state.total);
    if (bar_width > 0) {
      const auto filled = static_cast<size_t>(share * static_cast<double>(bar_width));
      line += fmt::format(" [{}{}]", std::string(filled, '#'), std::string(bar_width - filled, '.'));
    }
    line += fmt::format(" {}/{} {} ({:.0f} %)", state.done, state.total, state.unit, 100 * share);
  } else {
    line += fmt::format(" {} {}", state.done, state.unit);
  }
  if (rate >= 1) {
    line += fmt::format(", {:.1f} {}/s", rate, state.unit);
  } else if (rate > 0) {
    line += fmt::format(", {:.2f} s each", 1 / rate);
  }
  if (rate > 0 && state.total > state.done) {
    line += ", " + format_duration(static_cast<double>(state.total - state.done) / rate) + " left";
  }
  if (!state.note.empty()) line += ", " + state.note;
  return line;
}

Progress::Progress(std::string title, uint64_t total, std::string unit, uint64_t done)
    : state_{.title = std::move(title), .unit = std::move(unit), .done = done, .total = total},
      first_(done),
      started_(Clock::now()),
      shown_(started_),
      on_terminal_(::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  const std::lock_guard lock(mutex_);
  show(/*force=*/true);
  const std::lock_guard terminal(terminal_mutex);
  if (on_screen == this) {
    std::fputc('\n', stderr);
    on_screen = nullptr;
  }
}

void Progress::advance(uint64_t count) {
  const std::lock_guard lock(mutex_);
  state_.done += count;
  show(/*force=*/false);
}

void Progress::set_note(std::string note) {
  const std::lock_guard lock(mutex_);
  state_.note = std::move(note);
}

void Progress::show(bool force) {
  if (!progress_enabled) return;
  const auto now = Clock::now();
  const milliseconds interval = on_terminal_ ? kTerminalInterval : kPlainInterval;
  if (!force && now - shown_ < interval) return;
  shown_ = now;
  // The rate counts what this run did, the bar what is done in all.
  ProgressState shown = state_;
  const double seconds = std::chrono::duration<double>(now - started_).count();
  const auto here = static_cast<double>(state_.done - first_);
  shown.seconds = here > 0 ? seconds * static_cast<double>(state_.done) / here : 0;
  const std::lock_guard terminal(terminal_mutex);
  if (on_terminal_) {
    erase_line();
    std::fputs(format_progress(shown, kBarWidth).c_str(), stderr);
    std::fflush(stderr);
    on_screen = this;
  } else {
    std::fputs((format_progress(shown, 0) + "\n").c_str(), stderr);
  }
}

ProgressPause::ProgressPause() {
  terminal_mutex.lock();
  if (on_screen != nullptr) {
    erase_line();
    std::fflush(stderr);
    on_screen = nullptr;
  }
}

ProgressPause::~ProgressPause() { terminal_mutex.unlock(); }

}  // namespace loci
