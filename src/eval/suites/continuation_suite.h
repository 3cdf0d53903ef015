// SPDX-License-Identifier: Apache-2.0
// Suites in which models continue recordings: memory, revisit, arena and the budget sweep. They
// differ in the length of the context, the arms and the metrics.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loci/eval/suites/continuation_scores.h"
#include "loci/eval/mind/mind_suite.h"
#include "loci/eval/suites/model_suite.h"

namespace loci::eval {

struct ContinuationSetup {
  std::string suite, title;
  std::vector<ModelChoice> models;
  std::vector<Arm> arms;
  Sampling sampling;
  std::filesystem::path data, out;
  ClipOptions clips;
  std::filesystem::path weights;     // folder with weights of metric networks; empty: none
  std::vector<std::string> metrics;  // keys, in table order
  // How predictions are scored if `data` is the MIND dataset. They are kept in out/predictions.
  MindScoring mind;
  // Whether the arms are budgets of one policy. Metrics are then plotted against the budget, and
  // only models are compared with each other, not arms.
  bool sweep = false;
};

class ContinuationSuite : public ModelSuite {
 public:
  explicit ContinuationSuite(ContinuationSetup setup);

  std::string title() const override { return setup_.title; }
  Json settings() const override;
  std::vector<std::string> clips() const override { return clip_names(*clips_); }
  std::vector<Metric> metrics() const override;
  std::vector<std::pair<std::string, std::string>> pairs() const override;
  std::vector<VariantGroup> groups() const override;
  PartResult run(size_t clip) override;
  std::vector<std::vector<PlotPanel>> plots(const std::vector<PartResult>& parts) const override;

 private:
  std::string name_of(size_t model, size_t arm) const;
  // Whether the arm can be run with the model: variations of the recurrent memory need one.
  bool applies(size_t model, size_t arm) const;
  PlotPanel budget_panel(const std::vector<PartResult>& parts, const std::string& metric,
                         const std::string& title) const;

  ContinuationSetup setup_;
  Networks networks_;
  std::vector<MindRecording> mind_;  // empty if the data is not MIND
  std::vector<bool> recurrent_;      // by model: whether it has recurrent states
  std::unique_ptr<EvalClips> clips_;
};

// Frame size, frame rate and chunk length of the models. Models that differ in them are bad input.
ClipFormat common_format(const std::vector<ModelChoice>& models, const Sampling& sampling);

}  // namespace loci::eval
