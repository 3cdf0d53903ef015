// SPDX-License-Identifier: Apache-2.0
// The camera path of a generation: one pose per latent in the world of its stream.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loci/camera/camera.h"

namespace loci::app {

// A file, a folder, the name of a preset, or a key string, at `fps` video frames a second and one
// pose per latent of `frames_per_latent`; `seconds` is how long a preset takes. The first pose of
// it is where the stream stands.
std::vector<camera::Camera> read_latent_path(const std::string& input, double fps,
                                             int64_t frames_per_latent, double fov_degrees,
                                             std::optional<double> seconds);

// `count` poses that follow `from`: the path's second pose and so on, placed as if its first were
// `from`; after its end the last one is held.
std::vector<camera::Camera> continued(std::span<const camera::Camera> path,
                                      const camera::Pose& from, size_t count);

}  // namespace loci::app
