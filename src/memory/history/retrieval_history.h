// SPDX-License-Identifier: Apache-2.0
// What the retrieving policies share: frame 0, an archive, a recent window, and the choice of
// archived frames in turn for each upcoming view. They differ in how they rank.
#pragma once

#include <deque>
#include <limits>
#include <vector>

#include "loci/memory/history/history_policy.h"

namespace loci::memory {

class RetrievalHistory : public HistoryPolicy {
 public:
  explicit RetrievalHistory(const RetrievalOptions& options);

  int64_t frame_budget() const override;
  int64_t stored_frames() const override;
  void commit(const FrameView& view) override;
  std::vector<int64_t> select(std::span<const FrameView> upcoming) const override;
  std::vector<int64_t> retained() const override;
  std::vector<HeldFrame> save() const override;
  void restore(std::vector<HeldFrame> frames) override;

 protected:
  static constexpr double kNever = -std::numeric_limits<double>::infinity();

  const RetrievalOptions& options() const { return options_; }
  const std::vector<FrameView>& archive() const { return archive_; }
  const std::deque<FrameView>& recent() const { return recent_; }

  // Scores of every archived frame, one list for each view that may choose; kNever = not wanted.
  virtual std::vector<std::vector<double>> rank(std::span<const FrameView> upcoming) const = 0;
  // Whether a frame that leaves the recent window is archived.
  virtual bool joins(const FrameView&) const { return true; }
  // Which archived frame is forgotten when there are too many.
  virtual size_t least_wanted() const { return 0; }
  // The archive changed: a frame was added at its end, or the one at this place was erased.
  virtual void added() {}
  virtual void erased(size_t) {}

 private:
  void archive_frame(const FrameView& view);

  RetrievalOptions options_;
  std::vector<FrameView> first_;    // frame 0, once it is there
  std::vector<FrameView> archive_;  // ascending
  std::deque<FrameView> recent_;    // ascending
};

}  // namespace loci::memory
