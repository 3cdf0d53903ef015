// SPDX-License-Identifier: Apache-2.0
// The messages and frames that wait to be sent to one client. Messages are due at once, frames at
// their time. The bytes of both are bounded.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "loci/serve/net/clock.h"

namespace loci::serve {

struct Outgoing {
  std::string bytes;
  bool text = false;     // JSON
  int64_t frames = 0;    // number of video frames; a message with frames may be dropped
  Clock::time_point at;  // for frames: not to be sent earlier
  uint64_t order = 0;    // set by the outbox
};

// Any thread may call every function.
class Outbox {
 public:
  Outbox(size_t frame_bytes, size_t message_bytes)
      : frame_limit_(frame_bytes), message_limit_(message_bytes) {}

  // `notify` is called after every put(), without locks held.
  void on_put(std::function<void()> notify);

  // Frames beyond the limit displace the oldest ones. Returns false if messages exceed their limit:
  // the client does not read and should be disconnected.
  bool put(Outgoing message);

  // The next message to send now, in the order of put(), except that frames wait for their time. If
  // there is none, `next` is when the first frame is due, if any waits.
  std::optional<Outgoing> take(Clock::time_point now, std::optional<Clock::time_point>& next);

  // Calls the function given to on_put(), without a message.
  void poke();

  // Drops frames that were not sent, because the client has left their world.
  void drop_frames();

  int64_t dropped_frames() const;

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
