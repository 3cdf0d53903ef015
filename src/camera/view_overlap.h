// SPDX-License-Identifier: Apache-2.0
// Overlap of two views by a few points in front of one of them.
#pragma once

#include "loci/camera/camera.h"

namespace loci::camera {

// The share, from 0 to 1, of points in front of `view` that `other` sees: the points of a 5x5 grid
// over the image, at 3 m along their rays. Pinhole lenses; xi is ignored. `aspect` is width /
// height of the frames, for lenses with a field of view only.
double view_overlap(const Camera& view, const Camera& other, double aspect);

}  // namespace loci::camera
