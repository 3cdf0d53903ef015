// SPDX-License-Identifier: Apache-2.0
// Linear probe: predicts the camera's yaw from the recurrent state, tested on recordings that were
// not used for fitting.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "loci/eval/suites/eval_clips.h"
#include "loci/eval/suites/eval_models.h"
#include "loci/eval/suites/suite.h"

namespace loci::eval {

struct ProbeSetup {
  std::vector<ModelChoice> models;
  Sampling sampling;
  std::filesystem::path data, out;
  std::optional<double> seconds;  // maximum length of a recording; default: all of it
  std::optional<int64_t> count;
  int64_t first_chunk = 9;    // states after this chunk (counted from one) and later ones are used
  int64_t permutations = 20;  // of the labels, as a control
};

// Recordings are replayed with teacher forcing; states at chunk boundaries are stored in
// out/states. Every model is also measured with an untrained recurrent branch: the same weights,
// except for random ones in that branch.
class ProbeSuite : public Suite {
 public:
  explicit ProbeSuite(ProbeSetup setup);

  std::string title() const override { return "Linear readout of yaw from the recurrent state"; }
  Json settings() const override;
  std::vector<std::string> clips() const override { return clip_names(*clips_); }
  std::vector<VariantGroup> groups() const override;
  std::vector<Metric> metrics() const override;
  std::vector<std::pair<std::string, std::string>> pairs() const override;
  void open(size_t group) override;
  Weight weight() const override { return Weight::kInstants; }
  PartResult run(size_t clip) override;
  // Fits the probes. There is one value per state: the mean over the hybrid layers.
  void conclude(std::vector<PartResult>& parts) override;
  std::vector<std::vector<PlotPanel>> plots(const std::vector<PartResult>& parts) const override;
  std::vector<std::string> notes() const override;

 private:
  std::filesystem::path state_file(const std::string& variant, size_t clip) const;
  void replay(const model::Transformer& transformer, const std::string& variant, size_t clip) const;
  void conclude(const std::string& variant, std::vector<PartResult*> parts) const;

  ProbeSetup setup_;
  std::unique_ptr<EvalClips> clips_;
  size_t open_ = 0;
  std::unique_ptr<sample::ModelFolder> folder_;
  std::unique_ptr<model::Transformer> untrained_;
};

// Features of states [n, H, D, D] that are invariant to rotations of keys and values: singular
// values and norms of every head, [n, H * (D + 1)].
at::Tensor invariant_summaries(const at::Tensor& states);

}  // namespace loci::eval
