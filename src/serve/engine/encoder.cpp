// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/engine/encoder.h"

#include <algorithm>
#include <utility>

#include "loci/base/error.h"
#include "loci/serve/net/refusal.h"

namespace loci::serve {

namespace {

// Size that a job without frames counts as, so that the number of messages is bounded, too.
constexpr size_t kLeastBytes = 4096;

}  // namespace

Encoder::Encoder(size_t limit_bytes) : limit_(limit_bytes), thread_([this] { run(); }) {}

Encoder::~Encoder() { stop(); }

void Encoder::submit(size_t bytes, Job job) {
  bytes = std::max(bytes, kLeastBytes);
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() || bytes_ + bytes <= limit_; });
    LOCI_CHECK(!stopping_, "a job was submitted to an encoder that has stopped");
    queue_.push_back({bytes, std::move(job)});
    bytes_ += bytes;
    ++submitted_;
  }
  changed_.notify_all();
}

void Encoder::drain() {
  std::unique_lock lock(mutex_);
  const uint64_t all = submitted_;
  changed_.wait(lock, [&] { return done_ >= all; });
}

void Encoder::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Encoder::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Job job = std::move(queue_.front().job);
    lock.unlock();
    try {
      job();
    } catch (...) {
      // Jobs report their own errors. This job failed to do so.
      reply_to_exception("the encoder");
    }
    job = nullptr;  // frees the frames before the queue has room for others
    lock.lock();
    bytes_ -= queue_.front().bytes;
    queue_.pop_front();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace loci::serve
