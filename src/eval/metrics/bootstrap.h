// SPDX-License-Identifier: Apache-2.0
// Confidence intervals of means by resampling whole clips, since frames of a clip are not
// independent.
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
  double mean = 0;  // of all values
  double low = 0, high = 0;
  int64_t clips = 0;  // with a value
  int64_t values = 0;
};

struct BootstrapOptions {
  int64_t resamples = 10'000;
  double level = 0.95;
  uint64_t seed = 0;
};

// Percentile interval of the mean over all values, clips drawn with replacement. Without a value
// everything is not a number; with one clip low and high are its mean.
Interval bootstrap_mean(std::span<const ClipValues> clips, const BootstrapOptions& options = {});

struct PairedDifference {
  Interval difference;  // a - b
  int64_t wins = 0;     // clips whose mean is higher in a
  int64_t losses = 0;   // lower; the others are equal
};

// Clips are paired by name and must have as many values in both; a clip that only one side has is
// bad input that names it.
PairedDifference paired_difference(std::span<const ClipValues> a, std::span<const ClipValues> b,
                                   const BootstrapOptions& options = {});

}  // namespace loci::eval
