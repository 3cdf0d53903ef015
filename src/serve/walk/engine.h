// SPDX-License-Identifier: Apache-2.0
// The one thread that computes: a fair queue over everything that wants turns.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "loci/serve/net/metrics.h"
#include "loci/serve/walk/outbox.h"

namespace loci::serve {

// A walk, a video job. The engine's thread alone calls these.
class Task {
 public:
  virtual ~Task() = default;
  // When its next turn is due; nothing: not before wake().
  virtual std::optional<Clock::time_point> due() = 0;
  // One unit of work, a chunk at most. `waited` is how long the turn was overdue. An exception ends
  // the task.
  virtual void turn(std::chrono::duration<double> waited) = 0;
  // No turn will follow.
  virtual bool finished() = 0;
  virtual void failed() {}
};

// Of the tasks that are due, the one that has used the least time gets the next turn. Tasks that
// join or wake do not get time back that they did not ask for: they start level with the others.
class Engine {
 public:
  explicit Engine(Metrics& metrics);
  ~Engine();

  // Any thread.
  void add(std::shared_ptr<Task> task);
  void wake();  // something became due
  int64_t waiting() const { return metrics_.queue_length.load(); }
  // After the turn in work; tasks are dropped.
  void stop();

 private:
  struct Entry {
    std::shared_ptr<Task> task;
    double used = 0;  // seconds, virtual
    bool active = false;
    Clock::time_point since;  // due
  };
  void run();
  // The entry to serve now, or nothing and when to look again.
  Entry* choose(Clock::time_point now, std::optional<Clock::time_point>& next);
  void serve(Entry& entry);

  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Task>> joining_;
  bool stopping_ = false, woken_ = false;
  std::vector<Entry> entries_;  // of the thread alone
  double virtual_time_ = 0;     // that of the task served last
  std::thread thread_;
};

}  // namespace loci::serve
