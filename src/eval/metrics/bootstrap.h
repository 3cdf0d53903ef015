// SPDX-License-Identifier: Apache-2.0
// Bootstrap confidence intervals of means and medians. Whole clips are resampled, because the
// frames of a clip are not independent.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace loci::eval {

// Values of one clip, e.g. of its revisited frames.
struct ClipValues {
  std::string clip;
  std::vector<double> values;
};

struct Interval {
  double mean = 0;  // or median
  double low = 0, high = 0;
  int64_t clips = 0;  // clips with at least one value
  int64_t values = 0;
};

enum class Statistic {
  kMean,         // over all values: every value has the same weight
  kMeanOfClips,  // of the means of the clips: every clip has the same weight
  kMedian,       // over all values
};

struct BootstrapOptions {
  int64_t resamples = 10'000;
  double level = 0.95;
  uint64_t seed = 0;
  Statistic statistic = Statistic::kMean;
};

// Percentile interval of the statistic; clips are drawn with replacement. Without
// values, mean, low and high are NaN. With one clip, low and high equal mean. Non-finite values
// are bad input.
Interval bootstrap_mean(std::span<const ClipValues> clips, const BootstrapOptions& options = {});

struct PairedDifference {
  Interval difference;  // a - b
  int64_t wins = 0;     // clips whose mean is higher in a
  int64_t losses = 0;   // clips whose mean is lower in a
};

// The statistic is that of the differences. Clips are paired by name and must have the same number
// of values on both sides. A clip that is missing on one side is bad input.
PairedDifference paired_difference(std::span<const ClipValues> a, std::span<const ClipValues> b,
                                   const BootstrapOptions& options = {});

}  // namespace loci::eval
