// SPDX-License-Identifier: Apache-2.0
// Recorded frames of one clip, read ahead in blocks while a continuation is scored.
#pragma once

#include "loci/eval/suites/eval_clips.h"

namespace loci::eval {

class RecordedFrames {
 public:
  // `clips` must outlive this object.
  RecordedFrames(const EvalClips& clips, size_t clip) : clips_(&clips), clip_(clip) {}

  // Frames [first, first + count), uint8 [count, H, W, 3]. Fast if `first` increases.
  at::Tensor read(int64_t first, int64_t count);

 private:
  const EvalClips* clips_;
  size_t clip_;
  at::Tensor block_;
  int64_t first_ = 0;  // first frame of the block
};

}  // namespace loci::eval
