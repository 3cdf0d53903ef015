// SPDX-License-Identifier: Apache-2.0
// A picture of a camera path from above: positions coloured by time, viewing directions, start and
// end, revisits and a scale.
#pragma once

#include <filesystem>
#include <string>

#include "loci/camera/picture/canvas.h"
#include "loci/camera/statistics.h"
#include "loci/camera/trajectory.h"

namespace loci::camera {

// The first camera looks towards the top of the page. Up in the world is (0, -1, 0), or the mean up
// of the cameras if that differs by more than 30 degrees (paths with other world axes).
void draw_top_view(Canvas& canvas, const Trajectory& trajectory, const PathStatistics& statistics,
                   const std::string& title);

// Writes .svg or .png, by the suffix of `path`. Other suffixes are bad input.
void write_top_view(const std::filesystem::path& path, const Trajectory& trajectory,
                    const PathStatistics& statistics, const std::string& title);

}  // namespace loci::camera
