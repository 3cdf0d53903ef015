// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/suite.h"

#include <cmath>
#include <map>

namespace loci::eval {

std::vector<std::pair<std::string, std::string>> Suite::pairs() const {
  const std::vector<std::string> all = variants_of(*this);
  std::vector<std::pair<std::string, std::string>> list;
  for (size_t i = 1; i < all.size(); ++i) list.emplace_back(all[0], all[i]);
  return list;
}

std::vector<std::vector<PlotPanel>> Suite::plots(const std::vector<PartResult>&) const {
  return {};
}

std::vector<std::string> variants_of(const Suite& suite) {
  std::vector<std::string> all;
  for (const VariantGroup& group : suite.groups()) {
    all.insert(all.end(), group.variants.begin(), group.variants.end());
  }
  return all;
}

PlotPanel mean_curves(const Suite& suite, const std::vector<PartResult>& parts,
                      const std::string& curve, std::string title, std::string x_label) {
  PlotPanel panel{std::move(title), std::move(x_label), {}, /*from_zero=*/false};
  for (const std::string& variant : variants_of(suite)) {
    struct Sum {
      double total = 0;
      int count = 0;
    };
    std::map<double, Sum> sums;  // by x
    for (const PartResult& part : parts) {
      const auto found = part.curves.find(variant);
      if (found == part.curves.end()) continue;
      for (const Curve& one : found->second) {
        if (one.name != curve) continue;
        for (const auto& [x, y] : one.points) {
          if (!std::isfinite(y)) continue;
          sums[x].total += y;
          ++sums[x].count;
        }
      }
    }
    PlotSeries series{variant, {}};
    for (const auto& [x, sum] : sums) series.points.emplace_back(x, sum.total / sum.count);
    panel.series.push_back(std::move(series));
  }
  return panel;
}

}  // namespace loci::eval
