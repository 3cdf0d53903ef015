// SPDX-License-Identifier: Apache-2.0
// The encoder thread: it encodes frames to JPEG and puts messages into the outboxes of clients, so
// that the engine's thread can go on with the next chunk.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace loci::serve {

// One thread runs all jobs in the order of submit(). The order therefore holds for every walk, and
// also for a client that leaves one walk for another.
//
// A job must own the data that it uses, because it may run after the walk that submitted it has
// ended. A job must not wait for a thread that submits jobs.
class Encoder {
 public:
  using Job = std::function<void()>;

  // `limit_bytes`: maximum size of the frames in the queue.
  explicit Encoder(size_t limit_bytes);
  ~Encoder();

  // Any thread. Appends a job that owns `bytes` bytes of frames. Blocks while the queue would
  // exceed its limit, so that no frame is dropped. An empty queue accepts a job of any size.
  void submit(size_t bytes, Job job);
  // Any thread. Returns when every job submitted before the call has run.
  void drain();
  // Runs all jobs of the queue, then ends the thread. No job may be submitted afterwards.
  void stop();

 private:
  struct Entry {
    size_t bytes;
    Job job;
  };
  void run();

  const size_t limit_;
  std::mutex mutex_;
  std::condition_variable changed_;  // a job was added, a job has run, or stop() was called
  std::deque<Entry> queue_;          // the first one is running
  size_t bytes_ = 0;                 // of the queue
  uint64_t submitted_ = 0, done_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace loci::serve
