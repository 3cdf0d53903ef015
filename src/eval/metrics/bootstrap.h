// SPDX-License-Identifier: Apache-2.0
// Bootstrap confidence intervals of means. Whole clips are resampled, because the frames of a clip
// are not independent.
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
  double mean = 0;  // over all values
  double low = 0, high = 0;
  int64_t clips = 0;  // clips with at least one value
  int64_t values = 0;
};

struct BootstrapOptions {
  int64_t resamples = 10'000;
  double level = 0.95;
  uint64_t seed = 0;
};

// Percentile interval of the mean over all values; clips are drawn with replacement. Without
// values, mean, low and high are NaN. With one clip, low and high equal its mean. Non-finite values
// are bad input.
Interval bootstrap_mean(std::span<const ClipValues> clips, const BootstrapOptions& options = {});

struct PairedDifference {
  Interval difference;  // a - b
  int64_t wins = 0;     // clips whose mean is higher in a
  int64_t losses = 0;   // clips whose mean is lower in a
};

// Clips are paired by name and must have the same number of values on both sides. A clip that is
// missing on one side is bad input.
PairedDifference paired_difference(std::span<const ClipValues> a, std::span<const ClipValues> b,
                                   const BootstrapOptions& options = {});

}  // namespace loci::eval
