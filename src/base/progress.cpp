// SPDX-License-Identifier: Apache-2.0
#include "loci/base/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "loci/base/terminal.h"
#include "loci/base/text.h"

namespace loci {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTerminalInterval{100};
constexpr milliseconds kPlainInterval{5000};
constexpr size_t kBarWidth = 24;

std::atomic<bool> progress_enabled{true};

// Guards the terminal and the state of every Progress. Recursive because a thread that holds a
// ProgressPause may log, which pauses again.
std::recursive_mutex& terminal_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}
Progress* on_screen = nullptr;  // the bar on the terminal; at most one is shown
int pauses = 0;

void erase_line() { std::fputs("\r\033[K", stderr); }

// A line of the full width of the terminal would wrap, and erasing it would fail.
size_t usable_columns() {
  struct winsize size {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 79;
  return std::max<size_t>(size.ws_col, 2) - 1;
}

}  // namespace

void set_progress_enabled(bool enabled) { progress_enabled = enabled; }

std::string format_progress(const ProgressState& state, size_t bar_width) {
  const auto here = static_cast<double>(state.done - std::min(state.done, state.done_before));
  const double rate = state.seconds > 0 ? here / state.seconds : 0;
  std::string line = state.title;
  if (state.total > 0) {
    const double share =
        std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
    if (bar_width > 0) {
      const auto filled = static_cast<size_t>(share * static_cast<double>(bar_width));
      line += fmt::format(" [{:#<{}}{:.<{}}]", "", filled, "", bar_width - filled);
    }
    // Rounded down, so that 100 % means complete.
    line += fmt::format(" {}/{} {} ({} %)", state.done, state.total, state.unit,
                        static_cast<int>(100 * share));
  } else {
    line += fmt::format(" {} {}", state.done, state.unit);
  }
  if (rate >= 1) {
    line += fmt::format(", {:.1f} {}/s", rate, state.unit);
  } else if (rate > 0) {
    line += fmt::format(", {} each", format_duration(1 / rate));
  }
  if (rate > 0 && state.total > state.done) {
    line += ", " + format_duration(static_cast<double>(state.total - state.done) / rate) + " left";
  }
  if (!state.note.empty()) line += ", " + state.note;
  return line;
}

Progress::Progress(std::string title, uint64_t total, std::string unit, uint64_t done)
    : state_{.title = std::move(title),
             .unit = std::move(unit),
             .done = done,
             .total = total,
             .done_before = done},
      started_(Clock::now()),
      shown_(started_),
      on_terminal_(is_smart_terminal(STDERR_FILENO)) {}

Progress::~Progress() {
  const std::lock_guard lock(terminal_mutex());
  if (shown_done_ != state_.done || on_terminal_) show(Clock::now());
  if (on_screen == this) {
    std::fputc('\n', stderr);
    on_screen = nullptr;
  }
}

void Progress::advance(uint64_t count) {
  const std::lock_guard lock(terminal_mutex());
  state_.done += count;
  const auto now = Clock::now();
  if (now - shown_ >= (on_terminal_ ? kTerminalInterval : kPlainInterval)) show(now);
}

void Progress::set_note(std::string note) {
  const std::lock_guard lock(terminal_mutex());
  state_.note = std::move(note);
}

void Progress::show(Clock::time_point now) {
  if (!progress_enabled) return;
  shown_ = now;
  shown_done_ = state_.done;
  state_.seconds = std::chrono::duration<double>(now - started_).count();
  if (on_terminal_) {
    on_screen = this;
    if (pauses == 0) draw_bar();
  } else {
    std::fputs((format_progress(state_, 0) + "\n").c_str(), stderr);
  }
}

void Progress::draw_bar() {
  erase_line();
  std::fputs(shorten(format_progress(state_, kBarWidth), usable_columns()).c_str(), stderr);
  std::fflush(stderr);
}

ProgressPause::ProgressPause() {
  terminal_mutex().lock();
  if (pauses++ == 0 && on_screen != nullptr) {
    erase_line();
    std::fflush(stderr);
  }
}

ProgressPause::~ProgressPause() {
  if (--pauses == 0 && on_screen != nullptr) on_screen->draw_bar();
  terminal_mutex().unlock();
}

}  // namespace loci
