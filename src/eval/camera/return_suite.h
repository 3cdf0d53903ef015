// SPDX-License-Identifier: Apache-2.0
// WBench's gated camera-return score: does the view come back when the camera does, provided that
// it changed in between?
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loci/eval/suites/eval_clips.h"
#include "loci/eval/suites/model_suite.h"
#include "loci/eval/networks/networks.h"

namespace loci::eval {

struct ReturnScore {
  double similarity = 0;  // of the return frame to the first: 1 / (1 + distance)
  double gate = 0;        // min(1, (1 - least similarity on the way) / 0.15)
  double score() const { return 100 * similarity * gate; }
};

// `distance` of frame i to the first; `back` is the return frame. The way is sampled at 10 frames,
// evenly from the first to the return.
ReturnScore return_score(int64_t back, const std::function<double(int64_t frame)>& distance);

// The frame in the second half of the path whose rotation is nearest to the first's; the nearest in
// place among equals, then the later.
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
  // Of two frames [1, H, W, 3].
  double distance(const at::Tensor& a, const at::Tensor& b) const;

  ReturnSetup setup_;
  Networks networks_;
  std::unique_ptr<EvalClips> clips_;
};

}  // namespace loci::eval
