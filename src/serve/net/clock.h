// SPDX-License-Identifier: Apache-2.0
// The clock of the server: monotonic, so that changes of the system time have no effect.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace loci::serve {

using Clock = std::chrono::steady_clock;

inline double elapsed_ms(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// Compares the time of day, by which files expire, with the monotonic clock.
class TimeOfDayWatch {
 public:
  // False for an hour after the time of day was set by more than a minute: it may be wrong, and the
  // hour allows to correct it before anything is deleted. `unix_time` in seconds.
  bool settled(Clock::time_point now, int64_t unix_time) {
    const auto steady = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
    const int64_t offset = unix_time - steady.count();
    if (offset_ && std::abs(offset - *offset_) > 60) unsettled_until_ = now + std::chrono::hours(1);
    offset_ = offset;
    return now >= unsettled_until_;
  }

 private:
  std::optional<int64_t> offset_;  // of the last call
  Clock::time_point unsettled_until_;
};

}  // namespace loci::serve
