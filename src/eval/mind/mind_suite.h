// SPDX-License-Identifier: Apache-2.0
// Predictions of MIND's memory test, made here or elsewhere, scored as its own scorer does it.
#pragma once

#include <filesystem>
#include <vector>

#include "loci/eval/suites/eval_models.h"
#include "loci/eval/mind/mind_data.h"
#include "loci/eval/mind/mind_scorer.h"
#include "loci/eval/networks/networks.h"
#include "loci/eval/suites/suite.h"

namespace loci::eval {

// mse, psnr, ssim and lpips over the whole prediction, and with _20 over its first 20 s; nothing
// where no frame counts.
MetricValues mind_values(const MindRecording& recording, const std::filesystem::path& prediction,
                         const MindScoring& scoring, const Lpips* lpips);

struct MindPredictionSetup {
  std::vector<ModelChoice> trees;  // roots of predictions, by name
  std::filesystem::path data, weights;
  MindScoring scoring;
  std::optional<int64_t> count;
};

// Scores trees of predictions that are there already. A clip without one is bad input.
class MindPredictionSuite : public Suite {
 public:
  explicit MindPredictionSuite(MindPredictionSetup setup);

  std::string title() const override { return "MIND memory test"; }
  Json settings() const override;
  std::vector<std::string> clips() const override;
  std::vector<Group> groups() const override;
  std::vector<Metric> metrics() const override;
  void open(size_t group) override { open_ = group; }
  PartResult run(size_t clip) override;

 private:
  MindPredictionSetup setup_;
  Networks networks_;
  std::vector<MindRecording> recordings_;
  size_t open_ = 0;
};

}  // namespace loci::eval
