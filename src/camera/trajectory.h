// SPDX-License-Identifier: Apache-2.0
// A camera path.
#pragma once

#include <vector>

#include "loci/camera/camera.h"

namespace loci::camera {

// One camera per video frame or one per latent frame, at a constant rate.
struct Trajectory {
  std::vector<Camera> cameras;
  double fps = 16;            // cameras per second
  int frames_per_pose = 1;    // video frames from one camera to the next; 4 for latents
  int width = 0, height = 0;  // size of the images that the lenses belong to, pixels; 0 = unknown

  double video_fps() const { return fps * frames_per_pose; }
  // From the first camera to the last.
  double seconds() const {
    return cameras.empty() ? 0 : static_cast<double>(cameras.size() - 1) / fps;
  }
};

}  // namespace loci::camera
