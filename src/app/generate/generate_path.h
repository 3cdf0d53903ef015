// SPDX-License-Identifier: Apache-2.0
// The trajectory of a run: one camera per latent.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loci/camera/camera.h"
#include "loci/camera/time_grid.h"

namespace loci::app {

// Reads a file, a folder, a preset or a key string at `fps` video frames per second and keeps one
// camera per latent. `seconds` is the length of a preset; other paths may end one or two chunks
// after it. The first camera stands for the last camera of the stream.
std::vector<camera::Camera> read_latent_path(const std::string& input, double fps,
                                             const camera::TimeGrid& grid, double fov_degrees,
                                             std::optional<double> seconds);

// The `count` cameras that follow `from`: the second camera of the path and later ones, transformed
// so that the first pose becomes `from`. The last camera is repeated at the end.
std::vector<camera::Camera> continued(std::span<const camera::Camera> path,
                                      const camera::Pose& from, size_t count);

}  // namespace loci::app
