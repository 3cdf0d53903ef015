// SPDX-License-Identifier: Apache-2.0
// From the results of all clips to the numbers of a table.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "loci/eval/metrics/bootstrap.h"
#include "loci/eval/suites/part_result.h"
#include "loci/eval/suites/suite.h"

namespace loci::eval {

struct VariantSummary {
  std::string variant;
  std::map<std::string, Interval> metrics;  // those that some clip has a value of
};

struct PairSummary {
  std::string a, b;
  struct Entry {
    Interval difference;  // a - b
    int64_t wins = 0;     // clips in which a is better
    int64_t losses = 0;   // in which b is; the others are equal
  };
  std::map<std::string, Entry> metrics;  // those that both have
};

struct Summary {
  std::vector<VariantSummary> variants;
  std::vector<PairSummary> pairs;
};

// Values that are not finite, and clips without a value, count as absent, in a pair for both sides.
Summary summarise(const Suite& suite, const std::vector<PartResult>& parts,
                  const BootstrapOptions& options = {});

}  // namespace loci::eval
