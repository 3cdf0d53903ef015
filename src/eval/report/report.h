// SPDX-License-Identifier: Apache-2.0
// Writes results as JSON and CSV for programs, and as one self-contained HTML page.
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

// Summarises `parts`.
Report make_report(const Suite& suite, std::vector<PartResult> parts);

// Writes report.html, results.json, summary.csv (a row per variant and metric), pairs.csv (a row
// per pair and metric) and values.csv (every value) into an existing folder.
void write_report(const std::filesystem::path& folder, const Report& report);

std::string to_html(const Report& report);
Json to_json(const Report& report);

}  // namespace loci::eval
