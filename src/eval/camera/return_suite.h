// SPDX-License-Identifier: Apache-2.0
// WBench's gated camera return: the similarity of the first frame and the frame at which the camera
// returns, gated by how much the view changed in between.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loci/eval/networks/networks.h"
#include "loci/eval/suites/eval_clips.h"
#include "loci/eval/suites/model_suite.h"

namespace loci::eval {

struct ReturnScore {
  double similarity = 0;  // of the return frame and the first frame: 1 / (1 + distance)
  double gate = 0;        // min(1, (1 - lowest similarity on the way) / 0.15)
  double score() const { return 100 * similarity * gate; }
};

// `distance(i)` is the distance of frame i from the first frame; `back` is the return frame. The
// way is sampled at 10 frames, evenly from the first frame to the return frame.
ReturnScore return_score(int64_t back, const std::function<double(int64_t frame)>& distance);

// The frame in the second half of the path whose rotation is closest to that of the first frame.
// Ties are broken by the closest position, then by the later frame.
int64_t return_frame(const std::vector<camera::Pose>& poses);

// "pixels" (root mean square difference), "lpips", "dino", "clip" (one minus the cosine). The
// benchmark itself uses DreamSim.
const std::vector<std::string>& return_distances();

struct ReturnSetup {
  std::vector<ModelChoice> models;
  std::vector<Arm> arms;
  Sampling sampling;
  std::filesystem::path data, out, weights;
  std::vector<std::string> routes;
  std::string distance = "lpips";
  std::optional<int64_t> count;
  std::vector<ModelChoice> predictions = {};  // videos of other programs (prediction_video.h)
};

class ReturnSuite : public ModelSuite {
 public:
  explicit ReturnSuite(ReturnSetup setup);

  std::string title() const override { return "Gated camera return"; }
  Json settings() const override;
  std::vector<std::string> clips() const override { return clip_names(*clips_); }
  std::vector<Metric> metrics() const override;
  PartResult run(size_t clip) override;
  std::vector<std::string> notes() const override;

 private:
  // Distance of two frames [1, H, W, 3].
  double distance(const at::Tensor& a, const at::Tensor& b) const;

  ReturnSetup setup_;
  Networks networks_;
  std::unique_ptr<EvalClips> clips_;
};

}  // namespace loci::eval
