// SPDX-License-Identifier: Apache-2.0
// Measures whether attention to the history goes to tokens that show the same surface as the query,
// and whether the recurrent readout changes that. Recordings are replayed unchanged, and attention
// is measured at revisits.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loci/eval/analysis/attention_replay.h"
#include "loci/eval/suites/continuation_suite.h"

namespace loci::eval {

struct AttentionSetup {
  std::vector<ModelChoice> models;
  std::vector<Arm> arms;  // histories
  Sampling sampling;
  std::filesystem::path data, out;
  ClipOptions clips;
  std::filesystem::path weights;  // folder with LPIPS weights; empty: none
  double timestep = 500;          // noise level of the measured pass times 1000
  // Readouts of the measured pass, for models with recurrent states. The history is always replayed
  // with the readout on, so that only queries differ.
  std::vector<model::Readout> readouts = {model::Readout::kOn, model::Readout::kOff,
                                          model::Readout::kRandom};
  bool rollouts = true;  // also generate, and measure the error where a surface was seen before
};

class AttentionSuite : public ModelSuite {
 public:
  explicit AttentionSuite(AttentionSetup setup);

  std::string title() const override { return "Attention to co-visible history"; }
  Json settings() const override;
  std::vector<std::string> clips() const override { return clip_names(*clips_); }
  std::vector<VariantGroup> groups() const override;
  std::vector<Metric> metrics() const override;
  std::vector<std::pair<std::string, std::string>> pairs() const override;
  Weight weight() const override { return Weight::kInstants; }
  PartResult run(size_t clip) override;
  // Divides the masked errors into thirds by the enrichment of the first variant.
  void conclude(std::vector<PartResult>& parts) override;
  std::vector<std::vector<PlotPanel>> plots(const std::vector<PartResult>& parts) const override;
  std::vector<std::string> notes() const override;

 private:
  // `common`: layers that attend to their history in every model. `downstream`: those of them after
  // the first hybrid block of any model. `after`: those directly after a hybrid block.
  struct Layers {
    std::vector<int64_t> common, downstream, after;
  };
  std::string name_of(size_t model, size_t arm, model::Readout readout) const;
  std::vector<model::Readout> readouts_of(size_t model) const;
  // One value per measured latent frame.
  MetricValues values_of(const LayerShares& shares, size_t instants, bool depth) const;
  void roll_out(size_t clip, const std::vector<DepthFrame>& views, PartResult& part) const;

  AttentionSetup setup_;
  Networks networks_;
  std::unique_ptr<EvalClips> clips_;
  std::vector<std::vector<int64_t>> hybrid_;  // hybrid layers, by model
  Layers layers_;
  size_t without_depth_ = 0;  // number of clips
};

}  // namespace loci::eval
