// SPDX-License-Identifier: Apache-2.0
// Common base of the retrieving policies overlap, landmarks and content: frame 0, an archive and a
// recent window. The policies differ in the scores by which archived frames are retrieved.
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
  void commit(const HistoryFrame& frame) override;
  std::vector<int64_t> select(std::span<const HistoryFrame> upcoming) const override;
  std::vector<int64_t> retained() const override;
  std::vector<RetainedFrame> save() const override;
  void restore(std::vector<RetainedFrame> frames) override;

 protected:
  // A score that excludes an archived frame.
  static constexpr double kNever = -std::numeric_limits<double>::infinity();

  const RetrievalOptions& options() const { return options_; }
  const std::vector<HistoryFrame>& archive() const { return archive_; }
  const std::deque<HistoryFrame>& recent() const { return recent_; }

  // Lists of scores, one score per archived frame. The lists choose their best frame in turn.
  virtual std::vector<std::vector<double>> scores(std::span<const HistoryFrame> upcoming) const = 0;
  // Whether a frame that leaves the recent window enters the archive.
  virtual bool is_archived(const HistoryFrame&) const { return true; }
  // Position in the archive of the frame that a full archive drops.
  virtual size_t to_drop() const { return 0; }
  // Called after a frame was appended to the archive, and after the frame at `place` was erased.
  virtual void added() {}
  virtual void erased(size_t /*place*/) {}

 private:
  void add_to_archive(const HistoryFrame& frame);

  RetrievalOptions options_;
  std::vector<HistoryFrame> first_;    // frame 0; empty before the first commit
  std::vector<HistoryFrame> archive_;  // ascending
  std::deque<HistoryFrame> recent_;    // ascending
};

// Weights of the policy overlap. The plain form, plain_overlap, has none: the score of a frame is
// the share of the upcoming directions that it covers.
struct OverlapWeights {
  // Weight of a generated frame relative to a recorded one: a generated frame repeats the content
  // of recorded frames with errors.
  double generated = 0.5;
  // Whether the score falls linearly with distance, to 0 at the radius: a near frame sees the same
  // from almost the same side.
  bool distance = true;
};
inline constexpr OverlapWeights kNoWeights{.generated = 1, .distance = false};

std::unique_ptr<HistoryPolicy> make_overlap_history(const RetrievalOptions& options,
                                                    const OverlapWeights& weights);

}  // namespace loci::memory
