// SPDX-License-Identifier: Apache-2.0
// Summarises the results of all clips for the tables of a report.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "loci/eval/metrics/bootstrap.h"
#include "loci/eval/suites/part_result.h"
#include "loci/eval/suites/suite.h"

namespace loci::eval {

struct VariantSummary {
  std::string variant;
  std::map<std::string, Interval> metrics;  // by key; only metrics with at least one value
};

struct PairSummary {
  std::string a, b;
  struct Entry {
    Interval difference;  // a - b
    double a = 0, b = 0;  // mean of each variant over the common values
    int64_t wins = 0;     // clips in which a is better
    int64_t losses = 0;   // clips in which b is better
  };
  std::map<std::string, Entry> metrics;  // by key; only metrics that both variants have
};

struct Summary {
  std::vector<VariantSummary> variants;
  std::vector<PairSummary> pairs;
};

// Non-finite values and clips without values are ignored; in a pair, on both sides. Metrics that
// are not medians are means with the given weights (default: the suite's).
Summary summarise(const Suite& suite, const std::vector<PartResult>& parts,
                  std::optional<Weight> weight = {}, const BootstrapOptions& options = {});

}  // namespace loci::eval
