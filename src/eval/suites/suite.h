// SPDX-License-Identifier: Apache-2.0
// Interface of an evaluation suite of `loci eval`. A suite defines its clips, the variants that it
// compares, its metrics, and how one clip is measured. The runner (runner.h) divides the clips
// among processes, resumes interrupted runs and writes the report.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loci/base/config.h"
#include "loci/eval/metrics/bootstrap.h"
#include "loci/eval/report/line_plot.h"
#include "loci/eval/suites/part_result.h"

namespace loci::eval {

struct Metric {
  std::string key;    // name in result files
  std::string title;  // column title in tables
  enum class Better { kHigher, kLower, kNearOne, kNeither } better = Better::kHigher;
  int digits = 2;
  std::string absent = {};  // reason why no clip has a value, e.g. missing weights; else empty
  std::string table = {};   // heading of the table with this column; empty: the first table
  bool median = false;      // whether tables contain the median over all values instead of a mean
};

// What has the same weight in the means of tables.
enum class Weight { kClips, kInstants };

// The variants of one model (or of one tree of predictions). They are measured together, so that
// the model is loaded once.
struct VariantGroup {
  std::string name;
  std::vector<std::string> variants;
};

class Suite {
 public:
  virtual ~Suite() = default;

  virtual std::string title() const = 0;
  // Everything that the results depend on. A result folder can only be continued with equal
  // settings.
  virtual Json settings() const = 0;
  virtual std::vector<std::string> clips() const = 0;
  virtual std::vector<VariantGroup> groups() const = 0;
  virtual std::vector<Metric> metrics() const = 0;
  // Pairs of variants whose paired difference (first - second) is reported. Default: the first
  // variant with every other one.
  virtual std::vector<std::pair<std::string, std::string>> pairs() const;

  // Loads the model of the group and releases that of the previous group.
  virtual void open(size_t group) = 0;
  // Measures one clip with all variants of the open group.
  virtual PartResult run(size_t clip) = 0;

  // Adds values that depend on all clips. Called once, when the parts of all clips exist.
  virtual void conclude(std::vector<PartResult>&) {}
  // Plots of the report, computed from all parts; each inner vector is one row of panels.
  virtual std::vector<std::vector<PlotPanel>> plots(const std::vector<PartResult>& parts) const;
  virtual std::vector<std::string> notes() const { return {}; }
  // The default of --weight. With kInstants every value has the same weight.
  virtual Weight weight() const { return Weight::kClips; }
};

// All variants of all groups, in order.
std::vector<std::string> variants_of(const Suite& suite);

// One panel with a series per variant: the mean over clips of the curve with the given name.
PlotPanel mean_curves(const Suite& suite, const std::vector<PartResult>& parts,
                      const std::string& curve, std::string title, std::string x_label);

}  // namespace loci::eval
