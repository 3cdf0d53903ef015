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

}  // namespace

Interval bootstrap_mean(std::span<const ClipValues> clips, const BootstrapOptions& options) {
  struct Part {
    double sum;
    double count;
  };
  std::vector<Part> parts;
  Interval interval;
  for (const ClipValues& clip : clips) {
    if (clip.values.empty()) continue;
    for (const double value : clip.values) {
      if (!std::isfinite(value)) fail("clip {}: values must be finite", clip.clip);
    }
    parts.push_back({sum_of(clip.values), static_cast<double>(clip.values.size())});
    interval.values += std::ssize(clip.values);
  }
  interval.clips = std::ssize(parts);
  const auto mean_of = [](const auto& draw, size_t count) {
    Part total{0, 0};
    for (size_t i = 0; i < count; ++i) {
      const Part& part = draw(i);
      total.sum += part.sum;
      total.count += part.count;
    }
    return total.sum / total.count;
  };
  if (parts.empty()) {
    interval.mean = interval.low = interval.high = std::numeric_limits<double>::quiet_NaN();
    return interval;
  }
  interval.mean = mean_of([&](size_t i) -> const Part& { return parts[i]; }, parts.size());
  Random random{options.seed};
  std::vector<double> means(static_cast<size_t>(options.resamples));
  for (double& mean : means) {
    mean = mean_of([&](size_t) -> const Part& { return parts[random.below(parts.size())]; },
                   parts.size());
  }
  std::sort(means.begin(), means.end());
  interval.low = percentile(means, (1 - options.level) / 2);
  interval.high = percentile(means, (1 + options.level) / 2);
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
