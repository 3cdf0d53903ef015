// SPDX-License-Identifier: Apache-2.0
// Suites in which models continue recordings: memory, revisit, arena, the budget sweep and drift.
// They differ in the length of the context, the arms and the metrics.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loci/eval/mind/mind_scorer.h"
#include "loci/eval/suites/continuation.h"
#include "loci/eval/suites/continuation_scores.h"
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
  // Folders of continuations that are scored besides the models or alone (prediction_video.h).
  std::vector<ModelChoice> predictions = {};
  // Also scores recorded frames that are encoded and decoded by the autoencoder of each model.
  bool autoencoder = false;
  // Keeps the frames in out/predictions/<variant>, so that they can be watched and scored again.
  bool videos = false;
};

// Further measurements of one continuation.
class ContinuationObserver {
 public:
  virtual ~ContinuationObserver() = default;
  // Receives the frames that ContinuationScores receives.
  virtual void add(int64_t first, const at::Tensor& frames) = 0;
  // Called after the last frame: adds values and files.
  virtual void finish(MetricValues& values) = 0;
  // Rows whose last cell is the picture of this continuation.
  virtual std::vector<PictureRow> pictures() const = 0;
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
  void conclude(std::vector<PartResult>& parts) override;
  std::vector<std::string> notes() const override;
  std::vector<std::vector<PlotPanel>> plots(const std::vector<PartResult>& parts) const override;

 protected:
  const ContinuationSetup& setup() const { return setup_; }
  const Networks& networks() const { return networks_; }
  const EvalClips& eval_clips() const { return *clips_; }
  // Measurements of a suite besides ContinuationScores; their pictures replace those of the scores.
  virtual std::unique_ptr<ContinuationObserver> observe(size_t, const std::string& /*variant*/) {
    return nullptr;
  }

 private:
  // Passes the frames of a continuation to the sink.
  using Produce = std::function<ContinuationCost(const Continuation::FrameSink& take)>;
  // Measures a variant; one element of `runs` per seed.
  void measure(size_t clip, const std::string& name, const std::vector<Produce>& runs,
               PartResult& part);
  struct Measured {
    MetricValues values;
    std::vector<Curve> curves;
    std::vector<PictureRow> pictures;
    std::map<int64_t, at::Tensor> patch_maps;
  };
  // `video` is the name of the variant's folder in out/predictions.
  Measured measure_run(size_t clip, const std::string& name, const std::string& video,
                       const Produce& produce);
  void score_mind(size_t clip, const std::filesystem::path& video, MetricValues& values) const;
  std::filesystem::path patches_file(const std::string& variant, const std::string& clip) const;
  std::string reconstruction_name(size_t model) const;
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
