// SPDX-License-Identifier: Apache-2.0
// Does the generated video follow the commanded camera? Motion is estimated from the frames by
// two-view geometry, on designed paths from first frames of recordings.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "loci/camera/lens.h"
#include "loci/eval/suites/eval_clips.h"
#include "loci/eval/suites/model_suite.h"
#include "loci/eval/suites/part_result.h"

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

// Metres that must have been commanded since the first frame for a ratio of distances.
constexpr double kLeastDistance = 0.25;

// Medians over pairs of frames half a second apart: rotation error in degrees; where at least 5 cm
// were commanded, the angle between directions of translation; where at least 2 degrees were,
// generated over commanded rotation; and the share of pairs without an estimate. Two views do not
// tell how far the camera moved; where `depth` of the first frame is known, every later frame that
// still shows enough of it is placed by it, and generated over commanded distance from the first
// frame is a median over those, where at least 25 cm were commanded. What nothing tells is left
// out.
MetricValues camera_values(const std::vector<at::Tensor>& frames,
                           const std::vector<camera::Pose>& poses, const camera::Pinhole& lens,
                           const at::Tensor& depth = {});

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
  bool any_depth_ = false;
};

}  // namespace loci::eval
