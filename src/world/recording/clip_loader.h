// SPDX-License-Identifier: Apache-2.0
// Loads clips ahead of time with worker threads. The order does not depend on the threads.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "loci/world/recording/clip.h"

namespace loci::world {

// Makes clip `index`, always the same for the same index. Used by one thread at a time.
class ClipSource {
 public:
  virtual ~ClipSource() = default;
  virtual Clip make(int64_t index) = 0;
};

struct LoaderOptions {
  int workers = 1;     // threads; 0: next() makes the clip itself
  int64_t ahead = 4;   // largest number of clips that are made ahead
  int64_t start = 0;   // position of the first clip
  int64_t count = -1;  // number of clips; -1: unlimited
  // Groups of `group` consecutive clips, such as those of one scene, are distributed over the ranks
  // in rotation. One worker makes a group.
  int64_t rank = 0, ranks = 1;
  int64_t group = 1;
};

// The index of the clip at a position of the rank's sequence.
int64_t index_at(int64_t position, const LoaderOptions& options);

class ClipLoader {
 public:
  using SourceFactory = std::function<std::unique_ptr<ClipSource>()>;

  // The constructor calls the factory once per worker.
  ClipLoader(const SourceFactory& factory, const LoaderOptions& options);
  ~ClipLoader();
  ClipLoader(const ClipLoader&) = delete;
  ClipLoader& operator=(const ClipLoader&) = delete;

  // The next clip. An exception of its source is thrown here. Must not be called when at_end().
  Clip next();
  bool at_end() const {
    return options_.count >= 0 && position_ >= options_.start + options_.count;
  }
  // Position of the clip that next() returns: the `start` of a resumed run.
  int64_t position() const { return position_; }

 private:
  struct Made {
    Clip clip;
    std::exception_ptr error;
  };
  void work(ClipSource& source);

  LoaderOptions options_;
  int64_t position_;
  std::vector<std::unique_ptr<ClipSource>> sources_;

  std::mutex mutex_;
  std::condition_variable made_, taken_;
  std::map<int64_t, Made> ready_;  // by position
  int64_t next_group_ = 0;         // the next group that a worker takes
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace loci::world
