// SPDX-License-Identifier: Apache-2.0
// Decides when frames are sent and when chunks begin: at the rate at which chunks are generated, at
// most at the video's frame rate.
#pragma once

#include <algorithm>
#include <chrono>

#include "loci/serve/net/clock.h"

namespace loci::serve {

class Pace {
 public:
  using Seconds = std::chrono::duration<double>;

  void start(double fps) {
    fps_ = fps;
    interval_ = 0;
    until_ = last_ = Clock::time_point();
  }

  // A chunk of `frames` frames was completed at `now` and took `seconds` of the engine, waiting
  // included. Returns when its first frame is due; the others follow every frame_seconds().
  Clock::time_point add(Clock::time_point now, int64_t frames, double seconds) {
    const double shortest = static_cast<double>(frames) / fps_;
    if (last_ != Clock::time_point()) {
      const double measured = std::min(Seconds(now - last_).count(), kLongest);
      interval_ = interval_ == 0 ? measured : kSmooth * interval_ + (1 - kSmooth) * measured;
    }
    work_ = work_ == 0 ? seconds : kSmooth * work_ + (1 - kSmooth) * seconds;
    last_ = now;
    frame_seconds_ = std::max(interval_, shortest) / static_cast<double>(frames);
    // Frames that are scheduled come first, but a backlog of more than a chunk is dropped.
    const Clock::time_point first =
        until_ > now + after(std::max(interval_, shortest)) ? now : std::max(now, until_);
    until_ = first + after(frame_seconds_ * static_cast<double>(frames));
    return first;
  }

  double frame_seconds() const { return frame_seconds_; }
  Clock::duration frame_time(int64_t index) const {
    return after(frame_seconds_ * static_cast<double>(index));
  }
  // The time at which the next chunk must begin so that its frames follow without a gap.
  Clock::time_point next_begin() const { return until_ - after(kMargin * work_); }
  // Call it at a pause: the interval to the next chunk does not measure the speed.
  void forget() { last_ = Clock::time_point(); }

 private:
  static constexpr double kSmooth = 0.7, kMargin = 1.25, kLongest = 60;
  static Clock::duration after(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  }

  double fps_ = 16, interval_ = 0, work_ = 0, frame_seconds_ = 0;
  Clock::time_point until_, last_;
};

}  // namespace loci::serve
