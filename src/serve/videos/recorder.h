// SPDX-License-Identifier: Apache-2.0
// A video recording of a walk, written while its chunks are generated. The engine's thread uses it.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "loci/io/media/video.h"
#include "loci/serve/videos/video_store.h"

namespace loci::serve {

class Recorder {
 public:
  // `view`: index of the view to record, -1 for all views side by side.
  Recorder(VideoStore& videos, const WorldFacts& world, int view, double seconds_limit);

  // Adds the frames of a chunk, by view, uint8 [T, H, W, 3].
  void add(const std::vector<at::Tensor>& frames);
  bool full() const { return frames_ >= most_frames_; }
  // Completes the video and returns its record. A video without frames is deleted; the result is
  // then null.
  Json finish(VideoStore& videos);

 private:
  std::unique_ptr<VideoFolder> folder_;
  std::unique_ptr<io::VideoWriter> writer_;
  int view_;
  double fps_;
  int64_t frames_ = 0, most_frames_;
};

// Frames with even width and height, as the codec requires; an odd last row or column is cut off.
at::Tensor even_frames(const at::Tensor& frames);

}  // namespace loci::serve
