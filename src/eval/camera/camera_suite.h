// SPDX-License-Identifier: Apache-2.0
// Measures how well generated video follows the commanded camera. Motion is estimated from the
// frames by two-view geometry, on designed paths that start from first frames of recordings.
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
  double seconds = 10;              // length of presets, maximum length of recordings
  std::optional<int64_t> count;
  std::vector<ModelChoice> predictions = {};  // videos of other programs (prediction_video.h)
};

// Minimum commanded distance from the first frame, in metres, for a ratio of distances.
constexpr double kMinDistance = 0.25;

// One value per pair of consecutive frames (half a second apart); NaN without an estimate:
//   rotation        rotation error, degrees
//   direction       angle between directions of translation, degrees, if at least 5 cm were
//   commanded ratio           generated / commanded rotation, if at least 2 degrees were commanded
//   distance_ratio  generated / commanded distance of the pair's second frame from the first frame,
//                   if at least kMinDistance were commanded. Two views do not determine a distance,
//                   so it needs `depth` of the first frame and a frame that shows enough of it.
// and one value of the path:
//   failed          share of pairs without an estimate
// Metrics without any estimate are omitted.
MetricValues camera_values(const std::vector<at::Tensor>& frames,
                           const std::vector<camera::Pose>& poses, const camera::Pinhole& lens,
                           const at::Tensor& depth = {});

class CameraSuite : public ModelSuite {
 public:
  explicit CameraSuite(CameraSetup setup);

  std::string title() const override { return "Camera control"; }
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
