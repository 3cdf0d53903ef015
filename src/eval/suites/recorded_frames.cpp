// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/recorded_frames.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace loci::eval {

namespace {
constexpr int64_t kReadAhead = 160;  // frames
}

at::Tensor RecordedFrames::read(int64_t first, int64_t count) {
  if (!block_.defined() || first < first_ || first + count > first_ + block_.size(0)) {
    block_.reset();
    const int64_t left = clips_->clip(clip_).frames() - first;
    block_ = clips_->read(clip_, first, std::min(std::max(kReadAhead, count), left));
    first_ = first;
  }
  return block_.narrow(0, first - first_, count);
}

}  // namespace loci::eval
