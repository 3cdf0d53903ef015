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
// Jobs own what they use: they may run after the walk that submitted them has ended. A job must not
// wait for the thread that submits jobs.
class Encoder {
 public:
  using Job = std::function<void()>;

  // `limit_bytes` bounds the frames that wait; see submit().
  explicit Encoder(size_t limit_bytes);
  ~Encoder();

  // Any thread. Appends a job that holds `bytes` of frames. If the waiting jobs hold more than the
  // limit with it, submit() blocks until they do not or no other job waits: a client's frames are
  // never dropped here, and one job may exceed the limit.
  void submit(size_t bytes, Job job);
  // Any thread. Returns when every job submitted before the call has run.
  void drain();
  // Runs the jobs that wait, then ends the thread. No job may be submitted afterwards.
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
