// SPDX-License-Identifier: Apache-2.0
// Does the generated video follow the commanded camera? Motion is estimated from the frames by
// two-view geometry, on designed paths from first frames of recordings.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "loci/camera/lens.h"
#include "loci/eval/eval_clips.h"
#include "loci/eval/model_suite.h"
#include "loci/eval/part_result.h"

namespace loci::eval {

struct CameraSetup {
  std::vector<ModelChoice> models;
  std::vector<Arm> arms;
  Sampling sampling;
  std::filesystem::path data, out;
  std::vector<std::string> routes;  // presets or key strings
  double seconds = 10;              // of presets
  std::optional<int64_t> count;
};

// Medians over pairs of frames half a second apart: rotation error in degrees; where at least 5 cm
// were commanded, the angle between directions of translation; where at least 2 degrees were,
// generated over commanded rotation; and the share of pairs without an estimate. What no pair
// tells is left out.
MetricValues camera_values(const std::vector<at::Tensor>& frames,
                           const std::vector<camera::Pose>& poses, const camera::Pinhole& lens);

class CameraSuite : public ModelSuite {
 public:
  explicit CameraSuite(CameraSetup setup);

  std::string title() const override { return "Following the commanded camera"; }
  Json settings() const override;
  std::vector<std::string> clips() const override { return clip_names(*clips_); }
  std::vector<Metric> metrics() const override;
  PartResult run(size_t clip) override;
  std::vector<std::string> notes() const override;

 private:
  CameraSetup setup_;
  std::unique_ptr<EvalClips> clips_;
};

}  // namespace loci::eval
