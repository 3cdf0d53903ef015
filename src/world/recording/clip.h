// SPDX-License-Identifier: Apache-2.0
// A clip: frames with their cameras and a caption, from a recording on disk or from a scene.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/revisit.h"
#include "loci/camera/trajectory.h"

namespace loci::world {

// The origin of a rendered clip. Style, time and weather are names of command-line options.
struct SceneOrigin {
  uint64_t seed = 0;  // of the dataset
  int64_t index = 0;  // of the clip in the dataset
  uint64_t scene_seed = 0;
  std::string style, time, weather;

  bool operator==(const SceneOrigin&) const = default;
};

struct Clip {
  at::Tensor frames;  // uint8 [frames, height, width, 3]
  // Float [frames, height, width], metres along the ray; undefined if there is no depth.
  at::Tensor depth;
  camera::Trajectory trajectory;  // one camera per frame
  std::string caption;
  std::vector<std::string> captions;  // the caption, then paraphrases of it
  // "walk" for a simulated trajectory, the name of a designed path, or the name of a recording.
  std::string path;
  std::vector<camera::Revisit> revisits;
  std::optional<SceneOrigin> origin;  // none for recordings
};

}  // namespace loci::world
