// SPDX-License-Identifier: Apache-2.0
// Suites in which models continue recordings: memory, revisit, arena and the budget sweep. They
// differ in what is given, in the ways each model is run, and in what the table shows.
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
  std::filesystem::path weights;     // of networks for metrics; empty for none
  std::vector<std::string> metrics;  // keys, in the order of the table
  // How predictions are scored where `data` is MIND's; they are kept in out/predictions.
  MindScoring mind;
  // Arms are budgets of one policy: plotted against them, and compared between models only.
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
  std::vector<Group> groups() const override;
  PartResult run(size_t clip) override;
  std::vector<std::vector<PlotPanel>> plots(const std::vector<PartResult>& parts) const override;

 private:
  std::string name_of(size_t model, size_t arm) const;
  // Whether the arm makes a difference to the model.
  bool has(size_t model, size_t arm) const;
  PlotPanel budget_panel(const std::vector<PartResult>& parts, const std::string& metric,
                         const std::string& title) const;

  ContinuationSetup setup_;
  Networks networks_;
  std::vector<MindRecording> mind_;  // empty where the data are recordings of another kind
  std::vector<bool> recurrent_;      // by model
  std::unique_ptr<EvalClips> clips_;
};

// Sizes and rates of the first model, which all others must share.
ClipFormat common_format(const std::vector<ModelChoice>& models, const Sampling& sampling);

}  // namespace loci::eval
