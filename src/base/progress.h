// SPDX-License-Identifier: Apache-2.0
// Progress of a long job on stderr: a bar with rate and remaining time on a terminal, one plain
// line every few seconds elsewhere, nothing under --quiet.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace loci {

void set_progress_enabled(bool enabled);

// One line of progress, without control characters. `total` 0 means unknown.
struct ProgressState {
  std::string title;
  std::string unit;  // "frames", "chunks", …
  uint64_t done = 0;
  uint64_t total = 0;
  double seconds = 0;  // since the start
  std::string note;    // free text, e.g. "loss 0.734"
};
std::string format_progress(const ProgressState& state, size_t bar_width);

// Thread-safe. The last state is printed when the object ends.
class Progress {
 public:
  // `done` > 0 for a resumed job: the rate counts only what this run does.
  Progress(std::string title, uint64_t total, std::string unit, uint64_t done = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(uint64_t count = 1);
  void set_note(std::string note);

 private:
  friend class ProgressPause;
  using Clock = std::chrono::steady_clock;

  void show(bool force);

  std::mutex mutex_;
  ProgressState state_;
  uint64_t first_;
  Clock::time_point started_;
  Clock::time_point shown_;
  bool on_terminal_;
};

// While it lives, no bar is on the terminal, so that other text can be written there.
class ProgressPause {
 public:
  ProgressPause();
  ~ProgressPause();
  ProgressPause(const ProgressPause&) = delete;
  ProgressPause& operator=(const ProgressPause&) = delete;
};

}  // namespace loci
