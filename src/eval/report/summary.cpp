// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/report/summary.h"

#include <cmath>
#include <set>

#include "loci/base/error.h"

namespace loci::eval {

namespace {

// Values by clip, in part order.
std::vector<ClipValues> values_of(const std::vector<PartResult>& parts, const std::string& variant,
                                  const std::string& metric) {
  std::vector<ClipValues> clips;
  for (const PartResult& part : parts) {
    const auto found = part.values.find(variant);
    if (found == part.values.end()) continue;
    const auto list = found->second.find(metric);
    if (list != found->second.end()) clips.push_back({part.clip, list->second});
  }
  return clips;
}

std::vector<ClipValues> finite_only(std::vector<ClipValues> clips) {
  for (ClipValues& clip : clips) {
    std::erase_if(clip.values, [](double value) { return !std::isfinite(value); });
  }
  return clips;
}

void drop_unpaired(std::vector<ClipValues>& a, std::vector<ClipValues>& b) {
  // A clip with values on one side only is ignored.
  const auto keep_common = [](std::vector<ClipValues>& list, const std::vector<ClipValues>& other) {
    std::set<std::string> names;
    for (const ClipValues& clip : other) names.insert(clip.clip);
    std::erase_if(list, [&](const ClipValues& clip) { return !names.contains(clip.clip); });
  };
  keep_common(a, b);
  keep_common(b, a);
  std::map<std::string, ClipValues*> other;
  for (ClipValues& clip : b) other[clip.clip] = &clip;
  for (ClipValues& clip : a) {
    const auto found = other.find(clip.clip);
    // Other numbers of values, such as those of a video that ends early, cannot be paired.
    if (found->second->values.size() != clip.values.size()) {
      clip.values.clear();
      found->second->values.clear();
    }
    std::vector<double> left, right;
    for (size_t i = 0; i < clip.values.size(); ++i) {
      const double x = clip.values[i], y = found->second->values[i];
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      left.push_back(x);
      right.push_back(y);
    }
    clip.values = std::move(left);
    found->second->values = std::move(right);
  }
}

// Transforms values so that higher is better.
std::vector<ClipValues> goodness(std::vector<ClipValues> clips, Metric::Better better) {
  for (ClipValues& clip : clips) {
    for (double& value : clip.values) {
      if (better == Metric::Better::kLower) value = -value;
      if (better == Metric::Better::kNearOne) value = -std::abs(value - 1);
    }
  }
  return clips;
}

PairSummary::Entry compare(std::vector<ClipValues> a, std::vector<ClipValues> b,
                           Metric::Better better, const BootstrapOptions& options) {
  drop_unpaired(a, b);
  PairSummary::Entry entry;
  BootstrapOptions once = options;
  once.resamples = 1;
  entry.a = bootstrap_mean(a, once).mean;
  entry.b = bootstrap_mean(b, once).mean;
  entry.difference = paired_difference(a, b, options).difference;
  if (better == Metric::Better::kNeither) return entry;
  const PairedDifference won =
      paired_difference(goodness(std::move(a), better), goodness(std::move(b), better),
                        BootstrapOptions{.resamples = 1});
  entry.wins = won.wins;
  entry.losses = won.losses;
  return entry;
}

}  // namespace

Summary summarise(const Suite& suite, const std::vector<PartResult>& parts,
                  std::optional<Weight> weight, const BootstrapOptions& bootstrap) {
  Summary summary;
  const auto options_for = [&](const Metric& metric) {
    BootstrapOptions options = bootstrap;
    options.statistic = metric.median ? Statistic::kMedian
                        : weight.value_or(suite.weight()) == Weight::kClips
                            ? Statistic::kMeanOfClips
                            : Statistic::kMean;
    return options;
  };
  const std::vector<Metric> metrics = suite.metrics();
  for (const std::string& variant : variants_of(suite)) {
    VariantSummary& row = summary.variants.emplace_back();
    row.variant = variant;
    for (const Metric& metric : metrics) {
      const Interval interval =
          bootstrap_mean(finite_only(values_of(parts, variant, metric.key)), options_for(metric));
      if (interval.values > 0) row.metrics[metric.key] = interval;
    }
  }
  for (const auto& [a, b] : suite.pairs()) {
    PairSummary& row = summary.pairs.emplace_back();
    row.a = a;
    row.b = b;
    for (const Metric& metric : metrics) {
      std::vector<ClipValues> left = values_of(parts, a, metric.key);
      std::vector<ClipValues> right = values_of(parts, b, metric.key);
      if (left.empty() || right.empty()) continue;
      PairSummary::Entry entry =
          compare(std::move(left), std::move(right), metric.better, options_for(metric));
      if (entry.difference.values > 0) row.metrics[metric.key] = entry;
    }
  }
  return summary;
}

}  // namespace loci::eval
