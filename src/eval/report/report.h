// SPDX-License-Identifier: Apache-2.0
// Results as files: for programs (JSON, CSV) and for people (one HTML page that needs nothing
// else).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "loci/eval/report/summary.h"

namespace loci::eval {

struct Report {
  std::string title;
  Json settings;
  std::vector<std::string> clips;
  std::vector<Metric> metrics;
  std::vector<PartResult> parts;
  Summary summary;
  std::vector<std::vector<PlotPanel>> plots;
  std::vector<std::string> notes;
};

// Everything that `parts` say.
Report make_report(const Suite& suite, std::vector<PartResult> parts);

// report.html, results.json, summary.csv (a row per variant and metric), pairs.csv (a row per pair
// and metric) and values.csv (every value), in an existing folder.
void write_report(const std::filesystem::path& folder, const Report& report);

std::string to_html(const Report& report);
Json to_json(const Report& report);

}  // namespace loci::eval
