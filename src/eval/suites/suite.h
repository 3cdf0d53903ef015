// SPDX-License-Identifier: Apache-2.0
// A measurement that `loci eval` offers: which clips, which variants of which models, which
// metrics; and how one clip is measured. Division, resuming and reports are the runner's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loci/base/config.h"
#include "loci/eval/report/line_plot.h"
#include "loci/eval/suites/part_result.h"

namespace loci::eval {

struct Metric {
  std::string key;    // in files
  std::string title;  // in tables
  enum class Better { kHigher, kLower, kNearOne, kNeither } better = Better::kHigher;
  int digits = 2;
  std::string absent = {};  // why no clip has it, e.g. without weights
};

// Variants that are measured together since they share a model.
struct Group {
  std::string name;
  std::vector<std::string> variants;
};

class Suite {
 public:
  virtual ~Suite() = default;

  virtual std::string title() const = 0;
  // Everything that the results depend on; a folder of results is continued with the same only.
  virtual Json settings() const = 0;
  virtual std::vector<std::string> clips() const = 0;
  virtual std::vector<Group> groups() const = 0;
  virtual std::vector<Metric> metrics() const = 0;
  // Which variants are compared, better one first; every other with the first if not overridden.
  virtual std::vector<std::pair<std::string, std::string>> pairs() const;

  // Loads what the group needs; the group before is no longer needed.
  virtual void open(size_t group) = 0;
  // One clip with all variants of the open group.
  virtual PartResult run(size_t clip) = 0;

  // Adds to the parts what can only be said about all clips together; called once all are there.
  virtual void conclude(std::vector<PartResult>&) {}
  // What the report shows beside tables and pictures, from all parts.
  virtual std::vector<std::vector<PlotPanel>> plots(const std::vector<PartResult>& parts) const;
  virtual std::vector<std::string> notes() const { return {}; }
};

// All variants of all groups.
std::vector<std::string> variants_of(const Suite& suite);

// The mean over clips of every variant's curve of that name, as series of one panel.
PlotPanel mean_curves(const Suite& suite, const std::vector<PartResult>& parts,
                      const std::string& curve, std::string title, std::string x_label);

}  // namespace loci::eval
