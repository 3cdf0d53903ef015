// SPDX-License-Identifier: Apache-2.0
// The engine thread: the only thread that computes. It gives time slices to tasks, with equal
// shares of time.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "loci/serve/net/clock.h"
#include "loci/serve/net/metrics.h"

namespace loci::serve {

// A walk or a video job. The engine's thread alone calls these functions.
class Task {
 public:
  virtual ~Task() = default;
  // The time at which the task needs its next time slice. Nothing: not before wake(). The epoch: at
  // once.
  virtual std::optional<Clock::time_point> due() = 0;
  // One unit of work, at most a chunk. `waited` is how long the slice was overdue. An exception
  // ends the task.
  virtual void run_slice(std::chrono::duration<double> waited) = 0;
  // The task needs no further slice; the engine drops it.
  virtual bool finished() = 0;
  // run_slice() threw; the engine drops the task.
  virtual void failed() {}
};

// Of the tasks that are due, the one that has used the least time gets the next slice. A task that
// joins or wakes is not credited for the time before: it starts level with the others.
class Engine {
 public:
  explicit Engine(Metrics& metrics);
  ~Engine();

  // Any thread.
  void add(std::shared_ptr<Task> task);
  void wake();  // something became due
  int64_t waiting() const { return metrics_.queue_length.load(); }
  // Ends the thread after the slice that is running, and drops the tasks.
  void stop();

 private:
  struct Entry {
    std::shared_ptr<Task> task;
    double used = 0;  // seconds on the virtual clock of fair sharing
    bool active = false;
    Clock::time_point since;  // when it became due
  };
  void run();
  // The entry that gets the next slice; null if none is due, and `next` is when one will be.
  Entry* choose(Clock::time_point now, std::optional<Clock::time_point>& next);
  void serve(Entry& entry);

  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Task>> joining_;
  bool stopping_ = false, woken_ = false;
  std::vector<Entry> entries_;  // used by the thread alone
  double virtual_time_ = 0;     // `used` of the task that had the last slice
  std::thread thread_;
};

}  // namespace loci::serve
