// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/metrics/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "loci/base/error.h"
#include "loci/base/random.h"

namespace loci::eval {

namespace {

// Linear interpolation between order statistics, as in numpy. `sorted` must not be empty.
double percentile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(at));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The mean of the two middle values if their number is even. Reorders `values`.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

struct Sum {
  double sum, count;
};

}  // namespace

Interval bootstrap_mean(std::span<const ClipValues> clips, const BootstrapOptions& options) {
  std::vector<const ClipValues*> parts;
  std::vector<Sum> sums;
  Interval interval;
  for (const ClipValues& clip : clips) {
    if (clip.values.empty()) continue;
    for (const double value : clip.values) {
      if (!std::isfinite(value)) fail("clip {}: values must be finite", clip.clip);
    }
    parts.push_back(&clip);
    const auto count = static_cast<double>(clip.values.size());
    const double sum = sum_of(clip.values);
    sums.push_back(options.statistic == Statistic::kMeanOfClips ? Sum{sum / count, 1}
                                                                : Sum{sum, count});
    interval.values += std::ssize(clip.values);
  }
  interval.clips = std::ssize(parts);
  if (parts.empty()) {
    interval.mean = interval.low = interval.high = std::numeric_limits<double>::quiet_NaN();
    return interval;
  }
  std::vector<double> all;
  // The statistic of the clips that `draw` returns.
  const auto statistic_of = [&](const auto& draw) {
    if (options.statistic == Statistic::kMedian) {
      all.clear();
      for (size_t i = 0; i < parts.size(); ++i) {
        const std::vector<double>& values = parts[draw(i)]->values;
        all.insert(all.end(), values.begin(), values.end());
      }
      return median(all);
    }
    Sum total{0, 0};
    for (size_t i = 0; i < parts.size(); ++i) {
      const Sum& sum = sums[draw(i)];
      total.sum += sum.sum;
      total.count += sum.count;
    }
    return total.sum / total.count;
  };
  interval.mean = statistic_of([](size_t i) { return i; });
  Random random{options.seed};
  std::vector<double> drawn(static_cast<size_t>(options.resamples));
  for (double& value : drawn) {
    value = statistic_of([&](size_t) { return static_cast<size_t>(random.below(parts.size())); });
  }
  std::sort(drawn.begin(), drawn.end());
  interval.low = percentile(drawn, (1 - options.level) / 2);
  interval.high = percentile(drawn, (1 + options.level) / 2);
  return interval;
}

PairedDifference paired_difference(std::span<const ClipValues> a, std::span<const ClipValues> b,
                                   const BootstrapOptions& options) {
  std::map<std::string, const ClipValues*> other;
  for (const ClipValues& clip : b) other[clip.clip] = &clip;
  PairedDifference result;
  std::vector<ClipValues> differences;
  for (const ClipValues& clip : a) {
    const auto found = other.find(clip.clip);
    if (found == other.end()) fail("clip {}: missing in the second variant", clip.clip);
    const std::vector<double>& values = found->second->values;
    if (values.size() != clip.values.size()) {
      fail("clip {}: {} values in the first variant, {} in the second", clip.clip,
           clip.values.size(), values.size());
    }
    ClipValues difference{clip.clip, clip.values};
    for (size_t i = 0; i < values.size(); ++i) difference.values[i] -= values[i];
    const double sum = sum_of(difference.values);
    result.wins += sum > 0 ? 1 : 0;
    result.losses += sum < 0 ? 1 : 0;
    differences.push_back(std::move(difference));
    other.erase(found);
  }
  if (!other.empty()) fail("clip {}: missing in the first variant", other.begin()->first);
  result.difference = bootstrap_mean(differences, options);
  return result;
}

}  // namespace loci::eval
