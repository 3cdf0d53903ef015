// SPDX-License-Identifier: Apache-2.0
// Progress of a long job on stderr: a bar with rate and remaining time on a terminal, otherwise one
// line every few seconds. --quiet disables it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace loci {

void set_progress_enabled(bool enabled);

// The contents of a progress line. `total` 0 means unknown.
struct ProgressState {
  std::string title;
  std::string unit;  // "frames", "chunks", …
  uint64_t done = 0;
  uint64_t total = 0;
  uint64_t done_before = 0;  // by an earlier run that this run resumes; not part of the rate
  double seconds = 0;        // since this run started
  std::string note;          // free text, e.g. "loss 0.734"
};
std::string format_progress(const ProgressState& state, size_t bar_width);  // bar_width 0: no bar

// Thread-safe. The destructor prints the final state.
class Progress {
 public:
  // `done` > 0 for a resumed job; the rate includes only the work of this run.
  Progress(std::string title, uint64_t total, std::string unit, uint64_t done = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(uint64_t count = 1);
  void set_note(std::string note);

 private:
  friend class ProgressPause;
  using Clock = std::chrono::steady_clock;

  // Both need the mutex of progress.cpp.
  void show(Clock::time_point now);
  void draw_bar();

  ProgressState state_;
  Clock::time_point started_;
  Clock::time_point shown_;
  uint64_t shown_done_ = UINT64_MAX;  // `done` of the last printed line
  bool on_terminal_;
};

// Removes the bar from the terminal during its lifetime, so that other text can be written. The
// destructor draws the bar again. May be nested within a thread.
class ProgressPause {
 public:
  ProgressPause();
  ~ProgressPause();
  ProgressPause(const ProgressPause&) = delete;
  ProgressPause& operator=(const ProgressPause&) = delete;
};

}  // namespace loci
