// SPDX-License-Identifier: Apache-2.0
#include "loci/world/recording/clip_loader.h"

#include "loci/base/error.h"

namespace loci::world {

int64_t index_at(int64_t position, const LoaderOptions& options) {
  const int64_t group = position / options.group, place = position % options.group;
  return (group * options.ranks + options.rank) * options.group + place;
}

ClipLoader::ClipLoader(const SourceFactory& factory, const LoaderOptions& options)
    : options_(options), position_(options.start), next_group_(options.start / options.group) {
  LOCI_CHECK(options.workers >= 0 && options.ahead >= 1 && options.start >= 0 && options.group >= 1,
             "{} workers, {} ahead, start {}, group {}", options.workers, options.ahead,
             options.start, options.group);
  LOCI_CHECK(options.ranks >= 1 && options.rank >= 0 && options.rank < options.ranks,
             "rank {} of {}", options.rank, options.ranks);
  for (int i = 0; i < std::max(options.workers, 1); ++i) sources_.push_back(factory());
  for (int i = 0; i < options.workers; ++i) {
    threads_.emplace_back([this, &source = *sources_[static_cast<size_t>(i)]] { work(source); });
  }
}

ClipLoader::~ClipLoader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  taken_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ClipLoader::work(ClipSource& source) {
  const int64_t end =
      options_.count < 0 ? std::numeric_limits<int64_t>::max() : options_.start + options_.count;
  std::unique_lock lock(mutex_);
  for (;;) {
    const int64_t group = next_group_++;
    const int64_t first = std::max(group * options_.group, options_.start);
    const int64_t last = std::min((group + 1) * options_.group, end);
    if (first >= end) return;
    for (int64_t position = first; position < last; ++position) {
      // The worker of the next clip never waits here, so workers cannot block each other.
      taken_.wait(lock, [&] { return stop_ || position < position_ + options_.ahead; });
      if (stop_) return;
      lock.unlock();
      Made made;
      try {
        made.clip = source.make(index_at(position, options_));
      } catch (...) {
        made.error = std::current_exception();
      }
      lock.lock();
      ready_.emplace(position, std::move(made));
      made_.notify_all();
    }
  }
}

Clip ClipLoader::next() {
  LOCI_CHECK(!at_end(), "no clip after position {}", position_);
  if (threads_.empty()) return sources_.front()->make(index_at(position_++, options_));
  Made made;
  {
    std::unique_lock lock(mutex_);
    made_.wait(lock, [&] { return ready_.contains(position_); });
    made = std::move(ready_.extract(position_).mapped());
    ++position_;
  }
  taken_.notify_all();
  if (made.error) std::rethrow_exception(made.error);
  return std::move(made.clip);
}

}  // namespace loci::world
