// SPDX-License-Identifier: Apache-2.0
// Measurements of what a moving camera sees, from exact depth: how far the picture moves, and which
// part of it was shown before.
#pragma once

#include <span>
#include <vector>

#include "loci/camera/camera.h"
#include "loci/world/scene/scene.h"

namespace loci::world {

// A pinhole camera's picture.
struct PictureFormat {
  camera::Lens lens;
  int width = 192, height = 128;  // pixels
};

// For every second step from one latent frame to the next: the median distance, over the picture,
// by which a surface moves, in pixels. `poses`: one per frame.
std::vector<double> picture_motion(const Scene& scene, std::span<const camera::Pose> poses,
                                   const PictureFormat& format);

struct Coverage {
  double shown = 0;  // share of the later pixels whose surface or sky an earlier frame shows
  double sharp = 0;  // share that is shown with at least half of the later resolution
};
// Compares the views from `later` with those from `earlier`.
Coverage measure_coverage(const Scene& scene, std::span<const camera::Pose> earlier,
                          std::span<const camera::Pose> later, const PictureFormat& format);

}  // namespace loci::world
