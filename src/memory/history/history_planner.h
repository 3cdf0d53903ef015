// SPDX-License-Identifier: Apache-2.0
// Plans the visible history of a stream, chunk by chunk: cameras in, visible frames and their key
// times out. Streaming and training windows use the same planner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "loci/memory/history/history_policy.h"

namespace loci::memory {

// The temporal positions of a chunk and its visible history.
enum class KeyTimes {
  kPolicy,  // as described in VisibleHistory
  kWindow,  // the visible frames have the times 0, 1, …, and the chunk continues them
  kOwn,     // every frame keeps its own number, also under a bounded policy
};

// The earlier frames that a chunk attends to.
struct VisibleHistory {
  std::vector<int64_t> frames;    // ascending
  std::vector<double> key_times;  // temporal position of each frame's keys
  double start_time = 0;          // temporal position of the chunk's first frame
  // Of the frames, relative to the stream's first frame. Only with KeyTimes::kWindow.
  std::vector<camera::Camera> cameras;

  // The history of a chunk that starts at frame `start`. Under an unbounded policy frames keep
  // their own number as time. Under a bounded policy the n frames get the times start - n to
  // start - 1, so that distances in time stay within the range seen in training.
  static VisibleHistory at_own_times(std::vector<int64_t> frames, int64_t start);
  static VisibleHistory at_compact_times(std::vector<int64_t> frames, int64_t start);
  // The times of KeyTimes::kWindow; n frames get the times 0 to n - 1.
  static VisibleHistory at_window_times(std::vector<int64_t> frames);

  // key_times minus frames: how far the keys, which are stored at their own time, have to move.
  std::vector<double> time_shifts() const;
};

// The next chunk of a stream.
struct PlannedChunk {
  std::vector<HistoryFrame> frames;  // of the chunk, poses relative to the stream's first frame
  VisibleHistory visible;
};

class HistoryPlanner {
 public:
  // The policy has no past yet.
  explicit HistoryPlanner(std::unique_ptr<HistoryPolicy> policy,
                          KeyTimes times = KeyTimes::kPolicy);
  // An independent copy with the same past.
  HistoryPlanner(const HistoryPlanner& other);
  HistoryPlanner(HistoryPlanner&&) = default;

  // The next chunk, with one camera (camera to world) per latent frame. The first camera of the
  // first chunk defines the frame of reference. Planning may be repeated; only commit() advances
  // the stream.
  PlannedChunk plan(std::span<const camera::Camera> cameras);
  // Adds the frames of the planned chunk, with their origin and content, to the past.
  void commit(std::span<const HistoryFrame> frames);

  const HistoryPolicy& policy() const { return *policy_; }
  // Index of the next frame.
  int64_t next_frame() const { return next_frame_; }
  // Inverse pose of the first frame in the world; none before the first plan().
  const std::optional<camera::Pose>& world_to_first() const { return world_to_first_; }

  // Replaces the past by a saved one, see HistoryPolicy::restore(). A past that contradicts
  // `next_frame` is bad input.
  void restore(int64_t next_frame, const std::optional<camera::Pose>& world_to_first,
               std::vector<RetainedFrame> retained);

 private:
  std::unique_ptr<HistoryPolicy> policy_;
  KeyTimes times_;
  std::map<int64_t, camera::Camera> cameras_;  // of the retained frames, with KeyTimes::kWindow
  std::optional<camera::Pose> world_to_first_;
  int64_t next_frame_ = 0;
};

}  // namespace loci::memory
