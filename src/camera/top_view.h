// SPDX-License-Identifier: Apache-2.0
// A camera path seen from above, as a picture: the way coloured by time, what the camera looks at,
// start and end, and the scale.
#pragma once

#include <filesystem>
#include <string>

#include "loci/camera/picture/canvas.h"
#include "loci/camera/statistics.h"
#include "loci/camera/trajectory.h"

namespace loci::camera {

// The first view looks up the page. Up in the world is (0, -1, 0), or where the cameras' own up
// points on average when that is more than 30 degrees elsewhere (paths of other world axes).
void draw_top_view(Canvas& canvas, const Trajectory& trajectory, const PathStatistics& statistics,
                   const std::string& title);

// By suffix: .svg or .png; others are bad input.
void write_top_view(const std::filesystem::path& path, const Trajectory& trajectory,
                    const PathStatistics& statistics, const std::string& title);

}  // namespace loci::camera
