// SPDX-License-Identifier: Apache-2.0
// The state machine of a walk: its phase, whether it is paused, and when its next chunk is due.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "loci/serve/walk/pace.h"

namespace loci::serve {

// The engine's thread alone uses it. It sends nothing and reads no clock: callers pass the time.
class WalkState {
 public:
  // kNew: the world is not open. kReading: views are rebuilt from records. kReady: chunks can be
  // generated. kEnded: the world was released; no other phase follows.
  enum class Phase { kNew, kReading, kReady, kEnded };

  Phase phase() const { return phase_; }
  bool ready() const { return phase_ == Phase::kReady; }
  void set_phase(Phase phase) { phase_ = phase; }

  bool paused() const { return paused_; }
  const std::string& pause_reason() const { return pause_reason_; }
  // Cancels the steps that are left.
  void pause(const std::string& reason);
  // False if the walk is not paused.
  bool resume();
  // Generates `count` chunks although the walk is paused.
  void step(int64_t count) { steps_left_ = count; }

  // A new client sees the walk: paused or running, as the client chose.
  void greet(bool paused);
  // Starts pacing and counting anew, for frames at `fps`.
  void restart(double fps);

  // The time at which the next chunk is due: nothing if none is wanted, the epoch for at once.
  // `paced`: the client wants frames at the rate of the video.
  std::optional<Clock::time_point> next_chunk(bool paced) const;

  // A chunk begins. Returns the milliseconds since the beginning of the one before, 0 if there was
  // none since restart() or resume().
  double begin_chunk(Clock::time_point now);
  // The chunk's frames are on disk and took `seconds`; see Pace::add().
  Clock::time_point schedule(Clock::time_point now, int64_t frames, double seconds) {
    return pace_.add(now, frames, seconds);
  }
  const Pace& pace() const { return pace_; }
  // The chunk is complete. True if it was the last of `max_chunks` (0: no limit) and the walk must
  // now pause.
  bool end_chunk(int64_t max_chunks);

 private:
  Phase phase_ = Phase::kNew;
  bool paused_ = false;
  std::string pause_reason_;
  int64_t steps_left_ = 0;   // chunks to generate while paused
  int64_t chunks_ = 0;       // chunks since restart() or resume()
  Clock::time_point begun_;  // the newest chunk; the epoch if none since restart() or resume()
  Pace pace_;
};

}  // namespace loci::serve
