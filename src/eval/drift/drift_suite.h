// SPDX-License-Identifier: Apache-2.0
// Measures whether generated walks stay sharp: statistics of frames by window of time after a
// context, relative to the recording along the same path.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "loci/eval/report/summary.h"
#include "loci/eval/suites/continuation_suite.h"

namespace loci::eval {

class DriftSuite : public ContinuationSuite {
 public:
  // `setup.metrics` is ignored. Recordings of which none fills a window are bad input.
  DriftSuite(ContinuationSetup setup, double window_seconds);

  Json settings() const override;
  std::vector<Metric> metrics() const override;
  // Adds the Fréchet distances, which depend on all walks.
  void conclude(std::vector<PartResult>& parts) override;
  std::vector<std::vector<PlotPanel>> plots(const std::vector<PartResult>& parts) const override;
  std::vector<std::string> notes() const override;

 protected:
  std::unique_ptr<ContinuationObserver> observe(size_t clip, const std::string& variant) override;

 private:
  std::filesystem::path features_file(const std::string& variant, const std::string& clip) const;
  PlotPanel panel(const Summary& summary, const std::string& metric, const std::string& title,
                  bool relative) const;

  double window_seconds_;
  int64_t windows_ = 0;       // of the longest walk
  size_t without_depth_ = 0;  // number of walks
  size_t shorter_ = 0;        // number of walks with fewer windows than the longest
};

}  // namespace loci::eval
