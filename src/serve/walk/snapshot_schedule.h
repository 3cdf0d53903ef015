// SPDX-License-Identifier: Apache-2.0
// When to write the next snapshot of a walk's memory. After a crash, all chunks since the newest
// snapshot are replayed; the schedule bounds their number and the time that this takes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace loci::serve {

class SnapshotSchedule {
 public:
  // At most `chunks` chunks, and chunks that take at most `seconds` to replay, are without a
  // snapshot. A single chunk may take longer.
  SnapshotSchedule(int64_t chunks, double seconds) : most_chunks_(chunks), most_seconds_(seconds) {}

  // A chunk was added whose replay takes `seconds`.
  void add(double seconds) {
    ++chunks_;
    seconds_ += seconds;
    longest_ = std::max(longest_, seconds);
  }
  // A snapshot contains all chunks.
  void saved() { *this = SnapshotSchedule(most_chunks_, most_seconds_); }

  bool unsaved() const { return chunks_ > 0; }
  // Another chunk like the longest one would exceed a limit.
  bool due() const {
    return chunks_ >= most_chunks_ || (unsaved() && seconds_ + longest_ > most_seconds_);
  }

 private:
  int64_t most_chunks_;
  double most_seconds_;
  int64_t chunks_ = 0;
  double seconds_ = 0, longest_ = 0;
};

}  // namespace loci::serve
