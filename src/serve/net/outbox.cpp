// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/net/outbox.h"

namespace loci::serve {

void Outbox::on_put(std::function<void()> notify) {
  const std::lock_guard lock(mutex_);
  notify_ = std::move(notify);
}

bool Outbox::put(Outgoing message) {
  std::function<void()> notify;
  {
    const std::lock_guard lock(mutex_);
    const size_t size = message.bytes.size();
    message.order = next_order_++;
    if (message.frames > 0) {
      frame_bytes_ += size;
      frames_.push_back(std::move(message));
      while (frame_bytes_ > frame_limit_ && frames_.size() > 1) {
        frame_bytes_ -= frames_.front().bytes.size();
        dropped_ += frames_.front().frames;
        frames_.pop_front();
      }
    } else {
      // A single message may exceed the limit; a queue of messages may not.
      if (!messages_.empty() && message_bytes_ + size > message_limit_) return false;
      message_bytes_ += size;
      messages_.push_back(std::move(message));
    }
    notify = notify_;
  }
  if (notify) notify();
  return true;
}

std::optional<Outgoing> Outbox::take(Clock::time_point now,
                                     std::optional<Clock::time_point>& next) {
  const std::lock_guard lock(mutex_);
  next.reset();
  const auto pop = [](std::deque<Outgoing>& queue, size_t& bytes) {
    Outgoing message = std::move(queue.front());
    queue.pop_front();
    bytes -= message.bytes.size();
    return message;
  };
  const bool frame_due = !frames_.empty() && frames_.front().at <= now;
  if (!messages_.empty() && (!frame_due || messages_.front().order < frames_.front().order)) {
    return pop(messages_, message_bytes_);
  }
  if (frame_due) return pop(frames_, frame_bytes_);
  if (!frames_.empty()) next = frames_.front().at;
  return std::nullopt;
}

void Outbox::poke() {
  std::function<void()> notify;
  {
    const std::lock_guard lock(mutex_);
    notify = notify_;
  }
  if (notify) notify();
}

void Outbox::drop_frames() {
  const std::lock_guard lock(mutex_);
  frames_.clear();
  frame_bytes_ = 0;
}

int64_t Outbox::dropped_frames() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace loci::serve
