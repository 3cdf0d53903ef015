// SPDX-License-Identifier: Apache-2.0
// What a walk's models are shown of a rendered place before its client takes over: all of it around
// where the walk begins, then a walk that comes back.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/serve/walk/starts.h"
#include "loci/world/clip/clip.h"

namespace loci::serve {

// How long it lasts and how it is cut.
struct TourShape {
  int64_t chunks = 1;  // after the first frame
  int64_t chunk_latents = 5, frames_per_latent = 4;
};

class Tour {
 public:
  // Of the place `seed` of `options`, whose number of frames follows from the shape.
  Tour(const world::ClipOptions& options, uint64_t seed, const TourShape& shape);

  // Where it begins.
  StartPicture first();
  // The next chunk: frames uint8 [T, H, W, 3], rendered now, and the poses of its latents relative
  // to the first frame.
  struct Part {
    at::Tensor frames;
    std::vector<camera::Pose> poses;
  };
  Part next();

  bool done() const { return shown_ == shape_.chunks; }
  // 0 to 1.
  double progress() const {
    return static_cast<double>(shown_) / static_cast<double>(shape_.chunks);
  }

 private:
  world::Clip render(int64_t first, int64_t frames);

  TourShape shape_;
  world::ClipMaker maker_;
  uint64_t seed_;
  std::vector<camera::Pose> poses_;  // of the frames, in the place
  int64_t shown_ = 0;                // chunks
};

}  // namespace loci::serve
