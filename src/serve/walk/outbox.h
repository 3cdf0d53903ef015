// SPDX-License-Identifier: Apache-2.0
// What waits to be sent to one client: messages at once, frames at their time, both bounded.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace loci::serve {

using Clock = std::chrono::steady_clock;

struct Outgoing {
  std::string bytes;
  bool text = false;     // JSON
  int64_t frames = 0;    // video frames inside; they may be dropped
  Clock::time_point at;  // not before; frames only
  uint64_t order = 0;    // given by the outbox
};

// Safe in any thread.
class Outbox {
 public:
  Outbox(size_t frame_bytes, size_t message_bytes)
      : frame_limit_(frame_bytes), message_limit_(message_bytes) {}

  // Called after every put, without locks held.
  void on_put(std::function<void()> notify);

  // Frames beyond the limit push out the oldest ones. False: the client reads so slowly that not
  // even messages get through, and should be cut.
  bool put(Outgoing message);

  // What may be sent now, in the order of put() but for frames whose time has not come. Otherwise
  // `next` is when to ask again, if anything waits.
  std::optional<Outgoing> take(Clock::time_point now, std::optional<Clock::time_point>& next);

  // Calls what on_put() was given, without a message.
  void poke();

  // Forgets frames that were not sent: those of a world that is no longer shown.
  void drop_frames();

  int64_t dropped_frames() const;
  size_t bytes() const;

 private:
  const size_t frame_limit_, message_limit_;
  mutable std::mutex mutex_;
  std::function<void()> notify_;
  std::deque<Outgoing> messages_, frames_;
  size_t message_bytes_ = 0, frame_bytes_ = 0;
  int64_t dropped_ = 0;
  uint64_t next_order_ = 0;
};

}  // namespace loci::serve
