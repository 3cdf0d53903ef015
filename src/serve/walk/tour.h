// SPDX-License-Identifier: Apache-2.0
// Recorded frames of a rendered scene that a walk's models are shown before the client takes over.
// In a scene with a tour of its own (world::has_tour), this is its beginning, followed by a walk if
// there is time left. In other scenes the camera turns once around, then walks and comes back.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/time_grid.h"
#include "loci/serve/walk/starts.h"
#include "loci/world/clip/clip_maker.h"

namespace loci::serve {

// Length of a tour and how it is divided into chunks.
struct TourShape {
  int64_t chunks = 1;  // after the first frame
  camera::TimeGrid grid;
};

class Tour {
 public:
  // Through scene `seed` of `options`; options.frames is ignored.
  Tour(const world::ClipOptions& options, uint64_t seed, const TourShape& shape);

  // The first frame and the scene's caption.
  StartPicture first();
  // Renders the next chunk: frames uint8 [T, H, W, 3] and the poses of its latent frames, relative
  // to the first frame.
  struct Part {
    at::Tensor frames;
    std::vector<camera::Pose> poses;
  };
  Part next();

  bool done() const { return shown_ == shape_.chunks; }
  // Share of the chunks that next() has returned, 0 to 1.
  double progress() const {
    return static_cast<double>(shown_) / static_cast<double>(shape_.chunks);
  }

 private:
  world::Clip render(int64_t first, int64_t frames);

  TourShape shape_;
  world::ClipMaker maker_;
  uint64_t seed_;
  std::vector<camera::Pose> poses_;  // of all frames, in the scene
  int64_t shown_ = 0;                // chunks that next() has returned
};

}  // namespace loci::serve
