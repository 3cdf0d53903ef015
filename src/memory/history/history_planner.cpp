// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/history/history_planner.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "loci/base/error.h"

namespace loci::memory {

VisibleHistory VisibleHistory::at_own_times(std::vector<int64_t> frames, int64_t start) {
  VisibleHistory visible;
  visible.start_time = static_cast<double>(start);
  visible.key_times.assign(frames.begin(), frames.end());
  visible.frames = std::move(frames);
  return visible;
}

VisibleHistory VisibleHistory::at_compact_times(std::vector<int64_t> frames, int64_t start) {
  VisibleHistory visible;
  visible.key_times.resize(frames.size());
  std::iota(visible.key_times.begin(), visible.key_times.end(),
            static_cast<double>(start - std::ssize(frames)));
  visible.start_time = static_cast<double>(start);
  visible.frames = std::move(frames);
  return visible;
}

VisibleHistory VisibleHistory::at_window_times(std::vector<int64_t> frames) {
  const int64_t start = std::ssize(frames);
  return at_compact_times(std::move(frames), start);
}

std::vector<double> VisibleHistory::time_shifts() const {
  std::vector<double> shifts = key_times;
  for (size_t i = 0; i < frames.size(); ++i) shifts[i] -= static_cast<double>(frames[i]);
  return shifts;
}

HistoryPlanner::HistoryPlanner(std::unique_ptr<HistoryPolicy> policy, KeyTimes times)
    : policy_(std::move(policy)), times_(times) {}

HistoryPlanner::HistoryPlanner(const HistoryPlanner& other)
    : policy_(other.policy_->clone()),
      times_(other.times_),
      cameras_(other.cameras_),
      world_to_first_(other.world_to_first_),
      next_frame_(other.next_frame_) {}

PlannedChunk HistoryPlanner::plan(std::span<const camera::Camera> cameras) {
  LOCI_CHECK(!cameras.empty(), "a chunk without cameras");
  if (next_frame_ == 0) world_to_first_ = cameras.front().pose.inverse();
  PlannedChunk chunk;
  for (size_t i = 0; i < cameras.size(); ++i) {
    chunk.frames.push_back({.index = next_frame_ + static_cast<int64_t>(i),
                            .camera = {*world_to_first_ * cameras[i].pose, cameras[i].lens},
                            .origin = Origin::kGenerated,
                            .key = {},
                            .query = {}});
  }
  std::vector<int64_t> frames = policy_->select(chunk.frames);
  int64_t last = -1;
  for (const int64_t frame : frames) {
    LOCI_CHECK(frame > last && frame < next_frame_,
               "the history policy '{}' selects frame {} after frame {} for a chunk that starts at "
               "frame {}; frames must ascend and lie in the past",
               policy_->name(), frame, last, next_frame_);
    last = frame;
  }
  LOCI_CHECK(!policy_->bounded() || std::ssize(frames) <= policy_->frame_budget(),
             "the history policy '{}' selects {} frames; its budget is {}", policy_->name(),
             frames.size(), policy_->frame_budget());
  if (times_ == KeyTimes::kWindow) {
    chunk.visible = VisibleHistory::at_window_times(std::move(frames));
    for (const int64_t frame : chunk.visible.frames) {
      chunk.visible.cameras.push_back(cameras_.at(frame));
    }
    return chunk;
  }
  chunk.visible = policy_->bounded() && times_ != KeyTimes::kOwn
                      ? VisibleHistory::at_compact_times(std::move(frames), next_frame_)
                      : VisibleHistory::at_own_times(std::move(frames), next_frame_);
  return chunk;
}

void HistoryPlanner::commit(std::span<const HistoryFrame> frames) {
  for (const HistoryFrame& frame : frames) {
    LOCI_CHECK(frame.index == next_frame_, "frame {} is committed where frame {} comes next",
               frame.index, next_frame_);
    policy_->commit(frame);
    ++next_frame_;
    if (times_ == KeyTimes::kWindow) cameras_[frame.index] = frame.camera;
  }
  if (times_ != KeyTimes::kWindow) return;
  const std::vector<int64_t> retained = policy_->retained();
  std::erase_if(cameras_, [&](const auto& each) {
    return !std::ranges::binary_search(retained, each.first);
  });
}

void HistoryPlanner::restore(int64_t next_frame, const std::optional<camera::Pose>& world_to_first,
                             std::vector<RetainedFrame> retained) {
  LOCI_CHECK(next_frame == 0 || world_to_first.has_value(), "a past without a first pose");
  for (const RetainedFrame& each : retained) {
    if (each.frame.index >= next_frame) {
      fail("the saved history has frame {}, but the stream has only {} frames", each.frame.index,
           next_frame);
    }
  }
  std::map<int64_t, camera::Camera> cameras;
  if (times_ == KeyTimes::kWindow) {
    for (const RetainedFrame& each : retained) cameras[each.frame.index] = each.frame.camera;
  }
  policy_->restore(std::move(retained));
  cameras_ = std::move(cameras);
  world_to_first_ = world_to_first;
  next_frame_ = next_frame;
}

}  // namespace loci::memory
