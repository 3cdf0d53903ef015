// SPDX-License-Identifier: Apache-2.0
// Do layers that attend to their history look at what shows the same as the current view, and does
// the recurrent readout lead them there? Recordings are replayed as they are, and attention is read
// where they come back.
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
  std::filesystem::path weights;  // of LPIPS; empty for none
  double timestep = 500;          // at which attention is read, of 1000
  // What is read of the recurrent states while attention is read, models without them apart. The
  // history is replayed with all of it in any case, so that only queries differ.
  std::vector<model::Readout> readouts = {model::Readout::kOn, model::Readout::kOff,
                                          model::Readout::kRandom};
  bool rollouts = true;  // also generate, for the error where the recording shows known things
};

class AttentionSuite : public ModelSuite {
 public:
  explicit AttentionSuite(AttentionSetup setup);

  std::string title() const override { return "Attention to what was seen before"; }
  Json settings() const override;
  std::vector<std::string> clips() const override { return clip_names(*clips_); }
  std::vector<Group> groups() const override;
  std::vector<Metric> metrics() const override;
  std::vector<std::pair<std::string, std::string>> pairs() const override;
  PartResult run(size_t clip) override;
  // Masked errors by tertiles of the first variant's enrichment.
  void conclude(std::vector<PartResult>& parts) override;
  std::vector<std::vector<PlotPanel>> plots(const std::vector<PartResult>& parts) const override;
  std::vector<std::string> notes() const override;

 private:
  // The layers that attend to their history in every model, and those of them after the first
  // hybrid block of any, and right after one.
  struct Layers {
    std::vector<int64_t> common, downstream, after;
  };
  std::string name_of(size_t model, size_t arm, model::Readout readout) const;
  std::vector<model::Readout> readouts_of(size_t model) const;
  // One value an instant.
  MetricValues values_of(const LayerShares& shares, size_t instants, bool depth) const;
  void roll_out(size_t clip, const std::vector<FrameView>& views, PartResult& part) const;

  AttentionSetup setup_;
  Networks networks_;
  std::unique_ptr<EvalClips> clips_;
  std::vector<std::vector<int64_t>> hybrid_;  // layers, by model
  Layers layers_;
  size_t without_depth_ = 0;  // clips
};

}  // namespace loci::eval
