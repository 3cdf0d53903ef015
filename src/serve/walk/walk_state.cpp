// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/walk_state.h"

#include <utility>

namespace loci::serve {

void WalkState::pause(const std::string& reason) {
  paused_ = true;
  pause_reason_ = reason;
  steps_left_ = 0;
  pace_.forget();
}

bool WalkState::resume() {
  if (!paused_) return false;
  paused_ = false;
  chunks_ = 0;
  begun_ = Clock::time_point();
  return true;
}

void WalkState::greet(bool paused) {
  paused_ = paused;
  pause_reason_ = "client";
  steps_left_ = 0;
}

void WalkState::restart(double fps) {
  pace_.start(fps);
  chunks_ = 0;
  begun_ = Clock::time_point();
}

std::optional<Clock::time_point> WalkState::next_chunk(bool paced) const {
  if (!ready() || (paused_ && steps_left_ <= 0)) return std::nullopt;
  return paced ? pace_.next_begin() : Clock::time_point();
}

double WalkState::begin_chunk(Clock::time_point now) {
  const Clock::time_point before = std::exchange(begun_, now);
  return before == Clock::time_point() ? 0 : elapsed_ms(before, now);
}

bool WalkState::end_chunk(int64_t max_chunks) {
  ++chunks_;
  if (paused_) {
    --steps_left_;
    return false;
  }
  return max_chunks > 0 && chunks_ >= max_chunks;
}

}  // namespace loci::serve
