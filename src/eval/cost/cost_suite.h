// SPDX-License-Identifier: Apache-2.0
// Time and memory of models against the length of the video, by history policy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loci/eval/suites/model_suite.h"

namespace loci::eval {

struct CostSetup {
  std::vector<ModelChoice> models;
  std::vector<Arm> arms;
  Sampling sampling;
  std::vector<double> seconds;  // lengths of video, ascending
};

// Measures one clip, the camera path of measure_stream(). Times depend on the machine and its load.
class CostSuite : public ModelSuite {
 public:
  explicit CostSuite(CostSetup setup);

  std::string title() const override { return "Cost against video length"; }
  Json settings() const override;
  std::vector<std::string> clips() const override { return {"walk"}; }
  std::vector<Metric> metrics() const override;
  PartResult run(size_t clip) override;
  std::vector<std::vector<PlotPanel>> plots(const std::vector<PartResult>& parts) const override;
  std::vector<std::string> notes() const override;

 private:
  CostSetup setup_;
};

}  // namespace loci::eval
