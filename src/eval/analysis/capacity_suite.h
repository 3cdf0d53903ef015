// SPDX-License-Identifier: Apache-2.0
// Capacity of recurrent states: what states with a given encoding of their keys can store of a
// recorded walk, without a network.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loci/eval/analysis/state_encodings.h"
#include "loci/eval/suites/eval_clips.h"
#include "loci/eval/suites/suite.h"

namespace loci::eval {

// Names of all measured memories: references, then state_encodings().
std::vector<std::string> capacity_names();

struct CapacitySetup {
  std::filesystem::path data, out;
  ClipOptions clips{.context_seconds = 40, .seconds = {}, .count = {}};
  int64_t width = 192, height = 128;  // pixels; tokens are 16x16 pixels
  std::vector<std::string> encodings = capacity_names();
  std::optional<std::filesystem::path> config;  // also measure the encoding of this config.json
  std::vector<double> betas = {0.03, 0.1, 1};
  int64_t states = 8;  // read together
  uint64_t seed = 1;   // of the contents
};

// The context of every recording is written to the states, token by token. Revisits whose first
// visit lies in the context are read and compared with the recording at a quarter of its size.
// Writes similarity.svg, the similarity of keys over the angle between rays, into `out`.
class CapacitySuite : public Suite {
 public:
  explicit CapacitySuite(CapacitySetup setup);

  std::string title() const override { return "Capacity of recurrent states without a network"; }
  Json settings() const override;
  std::vector<std::string> clips() const override { return clip_names(*clips_); }
  std::vector<VariantGroup> groups() const override;
  std::vector<Metric> metrics() const override;
  std::vector<std::pair<std::string, std::string>> pairs() const override;
  void open(size_t) override {}
  Weight weight() const override { return Weight::kInstants; }
  PartResult run(size_t clip) override;
  void conclude(std::vector<PartResult>& parts) override;
  std::vector<std::vector<PlotPanel>> plots(const std::vector<PartResult>& parts) const override;
  std::vector<std::string> notes() const override;

 private:
  struct Walk;
  bool chosen(const std::string& name) const;
  std::string variant(const StateEncoding& encoding, double beta) const;
  void measure_references(const Walk& walk, PartResult& result) const;
  void measure_states(const Walk& walk, const StateEncoding& encoding, PartResult& result) const;

  CapacitySetup setup_;
  std::vector<StateEncoding> encodings_;  // the chosen ones
  std::unique_ptr<EvalClips> clips_;
};

}  // namespace loci::eval
