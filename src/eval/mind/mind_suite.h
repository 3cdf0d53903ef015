// SPDX-License-Identifier: Apache-2.0
// Scores predictions of MIND's memory test like the official scorer.
#pragma once

#include <filesystem>
#include <vector>

#include "loci/eval/mind/mind_data.h"
#include "loci/eval/mind/mind_scorer.h"
#include "loci/eval/networks/networks.h"
#include "loci/eval/suites/eval_models.h"
#include "loci/eval/suites/suite.h"

namespace loci::eval {

// Metrics mse, psnr, ssim and lpips of the whole prediction, and with suffix _20 of its first 20 s.
// Metrics without a counted frame are omitted.
MetricValues mind_values(const MindRecording& recording, const std::filesystem::path& prediction,
                         const MindScoring& scoring, const model::Lpips* lpips);

struct MindPredictionSetup {
  std::vector<ModelChoice> trees;  // names and root folders of predictions
  std::filesystem::path data, weights;
  MindScoring scoring;
  std::optional<int64_t> count;
};

// Scores existing trees of predictions. A missing prediction is bad input.
class MindPredictionSuite : public Suite {
 public:
  explicit MindPredictionSuite(MindPredictionSetup setup);

  std::string title() const override { return "MIND memory test"; }
  Json settings() const override;
  std::vector<std::string> clips() const override;
  std::vector<VariantGroup> groups() const override;
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
