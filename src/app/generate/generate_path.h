// SPDX-License-Identifier: Apache-2.0
// The camera path of a generation: one pose per latent in the world of its stream.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loci/camera/pose.h"

namespace loci::app {

struct LatentPath {
  std::vector<camera::Pose> poses;
  std::vector<camera::Lens> lenses;  // as many

  size_t size() const { return poses.size(); }
  LatentPath slice(size_t begin, size_t count) const;
};

// A file, a folder, the name of a preset, or a key string, at `fps` video frames a second and one
// pose per latent of `frames_per_latent`; `seconds` is how long a preset takes. The first pose of
// it is where the stream stands.
LatentPath read_latent_path(const std::string& input, double fps, int64_t frames_per_latent,
                            double fov_degrees, std::optional<double> seconds);

// `count` poses that follow `from`: the path's second pose and so on, placed as if its first were
// `from`; after its end the last one is held.
LatentPath continued(const LatentPath& path, const camera::Pose& from, size_t count);

}  // namespace loci::app
