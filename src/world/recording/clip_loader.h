// SPDX-License-Identifier: Apache-2.0
// Clips made ahead of time by worker threads, in an order that does not depend on them.
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

// Something that makes clip i, the same every time. Used by one thread at a time.
class ClipSource {
 public:
  virtual ~ClipSource() = default;
  virtual Clip make(int64_t index) = 0;
};

struct LoaderOptions {
  int workers = 1;     // threads; 0 makes every clip when it is asked for
  int64_t ahead = 4;   // clips made but not yet taken, at most
  int64_t start = 0;   // position of the first clip
  int64_t count = -1;  // clips in all; -1 = endless
  // Ranks take turns. `group` clips in a row (those of one world) go to one rank and one worker.
  int64_t rank = 0, ranks = 1;
  int64_t group = 1;
};

// The clip's index at a position of a rank's sequence.
int64_t index_at(int64_t position, const LoaderOptions& options);

class ClipLoader {
 public:
  using SourceFactory = std::function<std::unique_ptr<ClipSource>()>;

  // The factory is called once per worker, from this constructor.
  ClipLoader(const SourceFactory& factory, const LoaderOptions& options);
  ~ClipLoader();
  ClipLoader(const ClipLoader&) = delete;
  ClipLoader& operator=(const ClipLoader&) = delete;

  // The next clip; what went wrong while making it is thrown here. Not past `count`.
  Clip next();
  bool at_end() const {
    return options_.count >= 0 && position_ >= options_.start + options_.count;
  }
  // Of the clip that next() gives: what to start from when a run is resumed.
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
  int64_t next_group_ = 0;         // to be taken by a worker
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace loci::world
