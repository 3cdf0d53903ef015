// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/engine/engine.h"

#include <algorithm>

#include "loci/base/interrupt.h"
#include "loci/serve/net/refusal.h"

namespace loci::serve {

Engine::Engine(Metrics& metrics) : metrics_(metrics), thread_([this] { run(); }) {}

Engine::~Engine() { stop(); }

void Engine::add(std::shared_ptr<Task> task) {
  {
    const std::lock_guard lock(mutex_);
    joining_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void Engine::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

void Engine::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Engine::Entry* Engine::choose(Clock::time_point now, std::optional<Clock::time_point>& next) {
  Entry* best = nullptr;
  int64_t waiting = 0;
  for (Entry& entry : entries_) {
    const std::optional<Clock::time_point> due = entry.task->due();
    if (!due || *due > now) {
      entry.active = false;
      if (due && (!next || *due < *next)) next = *due;
      continue;
    }
    if (!entry.active) {
      entry.active = true;
      // A task that is due at once has waited since now.
      entry.since = *due == Clock::time_point() ? now : *due;
      entry.used = std::max(entry.used, virtual_time_);
    }
    ++waiting;
    if (best == nullptr || entry.used < best->used ||
        (entry.used == best->used && entry.since < best->since)) {
      best = &entry;
    }
  }
  metrics_.queue_length = waiting;
  return best;
}

void Engine::serve(Entry& entry) {
  const Clock::time_point begun = Clock::now();
  const std::chrono::duration<double> waited = std::max(
      std::chrono::duration<double>(0), std::chrono::duration<double>(begun - entry.since));
  virtual_time_ = entry.used;
  metrics_.queue_seconds.observe(waited.count());
  bool lost = false;
  try {
    entry.task->run_slice(waited);
  } catch (const Interrupted&) {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    return;
  } catch (...) {
    ++metrics_.errors;
    reply_to_exception("a time slice of the engine");
    lost = true;
    try {
      entry.task->failed();
    } catch (...) {
      reply_to_exception("ending a task of the engine");
    }
  }
  entry.used += std::chrono::duration<double>(Clock::now() - begun).count();
  // A task that goes on at once has waited since now.
  entry.since = Clock::now();
  if (lost || entry.task->finished()) {
    std::erase_if(entries_, [&](const Entry& each) { return each.task == entry.task; });
  }
}

void Engine::run() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) break;
      woken_ = false;
      for (std::shared_ptr<Task>& task : joining_) entries_.push_back({std::move(task)});
      joining_.clear();
    }
    std::optional<Clock::time_point> next;
    Entry* entry = choose(Clock::now(), next);
    if (entry != nullptr) {
      serve(*entry);
      continue;
    }
    std::unique_lock lock(mutex_);
    const auto news = [this] { return stopping_ || woken_ || !joining_.empty(); };
    if (next) {
      changed_.wait_until(lock, *next, news);
    } else {
      changed_.wait(lock, news);
    }
  }
  entries_.clear();
}

}  // namespace loci::serve
