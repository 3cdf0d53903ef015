// SPDX-License-Identifier: Apache-2.0
// Writes results as JSON and CSV for programs, and as one self-contained HTML page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "loci/eval/report/summary.h"

namespace loci::eval {

// A result that is missing because measuring the clip failed.
struct FailedClip {
  std::string group, clip, reason;
};

struct Report {
  std::string title;
  Json settings;
  std::vector<std::string> clips;
  std::vector<Metric> metrics;
  std::vector<PartResult> parts;
  Summary summary;
  std::vector<std::vector<PlotPanel>> plots;
  std::vector<std::string> notes;
  Weight weight = Weight::kClips;
  std::vector<FailedClip> failed;
  int64_t missing = 0;  // results that are neither present nor failed: the run has not finished
};

// Summarises `parts`.
Report make_report(const Suite& suite, std::vector<PartResult> parts,
                   std::optional<Weight> weight = {});

// Writes report.html, results.json, summary.csv (a row per variant and metric), pairs.csv (a row
// per pair and metric) and values.csv (every value) into an existing folder.
void write_report(const std::filesystem::path& folder, const Report& report);

std::string to_html(const Report& report);
Json to_json(const Report& report);

}  // namespace loci::eval
