// SPDX-License-Identifier: Apache-2.0
// Which frames of the past a chunk may attend to. One policy serves every layer and branch, and
// every model, so that memories can be compared under one budget.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "loci/camera/pose.h"

namespace loci::memory {

struct FrameView {
  int64_t frame = 0;  // latent frame since the start of the stream
  camera::Pose pose;
  camera::Intrinsics lens;
};

class HistoryPolicy {
 public:
  virtual ~HistoryPolicy() = default;

  virtual std::string_view name() const = 0;
  // Most frames a chunk ever sees beside its own; 0 = grows with the stream.
  virtual int64_t frame_budget() const = 0;
  // Bounded policies give their frames compact key times and commit slightly noised latents.
  bool bounded() const { return frame_budget() > 0; }

  // A finished frame, in order from frame 0.
  virtual void commit(const FrameView& view) = 0;
  // The frames the next chunk sees, ascending. `upcoming` are the views of that chunk.
  virtual std::vector<int64_t> select(std::span<const FrameView> upcoming) const = 0;
  // Frames that may still be selected, ascending: the store may forget all others.
  virtual std::vector<int64_t> retained() const = 0;

  // An independent copy with the same past.
  virtual std::unique_ptr<HistoryPolicy> clone() const = 0;
};

// Every earlier frame.
std::unique_ptr<HistoryPolicy> make_dense_history();

struct PanoramaBankOptions {
  int64_t bank_frames = 20;
  int64_t recent_frames = 8;
  double new_coverage = 0.3;  // share of a frame's view that must be new for it to join
  double radius = 6;          // metres; views farther away do not cover
  bool pin_anchors = false;   // frames 1, 9, …, 73 always join and never leave: a bank of >= 10
  double aspect = 1.5;        // width / height of the frames
};

// {0} ∪ bank ∪ recent: the bank keeps frames that look where no other looks.
std::unique_ptr<HistoryPolicy> make_panorama_bank(const PanoramaBankOptions& options);

}  // namespace loci::memory
