// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/report/report.h"

#include <algorithm>
#include <cmath>

#include "loci/base/file.h"

namespace loci::eval {

namespace {

std::string_view name_of(Metric::Better better) {
  switch (better) {
    case Metric::Better::kHigher:
      return "higher";
    case Metric::Better::kLower:
      return "lower";
    case Metric::Better::kNearOne:
      return "one";
    case Metric::Better::kNeither:
      break;
  }
  return "neither";
}

Json to_json(const Interval& interval) {
  return {{"mean", interval.mean},
          {"low", interval.low},
          {"high", interval.high},
          {"clips", interval.clips},
          {"values", interval.values}};
}

// CSV field; quoted if it contains a comma, a quote or a line break.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string summary_csv(const Report& report) {
  std::string text = "variant,metric,mean,low,high,clips,values\n";
  for (const VariantSummary& row : report.summary.variants) {
    for (const Metric& metric : report.metrics) {
      const auto found = row.metrics.find(metric.key);
      if (found == row.metrics.end()) continue;
      const Interval& i = found->second;
      text += fmt::format("{},{},{},{},{},{},{}\n", field(row.variant), field(metric.key), i.mean,
                          i.low, i.high, i.clips, i.values);
    }
  }
  return text;
}

std::string pairs_csv(const Report& report) {
  std::string text =
      "a,b,metric,difference,low,high,clips_won,clips_lost,clips,values,mean_a,mean_b\n";
  for (const PairSummary& row : report.summary.pairs) {
    for (const Metric& metric : report.metrics) {
      const auto found = row.metrics.find(metric.key);
      if (found == row.metrics.end()) continue;
      const PairSummary::Entry& e = found->second;
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", field(row.a), field(row.b),
                          field(metric.key), e.difference.mean, e.difference.low, e.difference.high,
                          e.wins, e.losses, e.difference.clips, e.difference.values, e.a, e.b);
    }
  }
  return text;
}

std::string values_csv(const Report& report) {
  std::string text = "clip,variant,metric,index,value\n";
  for (const PartResult& part : report.parts) {
    for (const auto& [variant, metrics] : part.values) {
      for (const auto& [metric, values] : metrics) {
        for (size_t i = 0; i < values.size(); ++i) {
          if (!std::isfinite(values[i])) continue;
          text += fmt::format("{},{},{},{},{}\n", field(part.clip), field(variant), field(metric),
                              i, values[i]);
        }
      }
    }
  }
  return text;
}

}  // namespace

Report make_report(const Suite& suite, std::vector<PartResult> parts,
                   std::optional<Weight> weight) {
  Report report;
  report.weight = weight.value_or(suite.weight());
  report.title = suite.title();
  report.settings = suite.settings();
  report.clips = suite.clips();
  report.metrics = suite.metrics();
  report.summary = summarise(suite, parts, report.weight);
  report.plots = suite.plots(parts);
  report.notes = suite.notes();
  report.parts = std::move(parts);
  return report;
}

Json to_json(const Report& report) {
  Json metrics = Json::array(), variants = Json::array(), pairs = Json::array();
  for (const Metric& metric : report.metrics) {
    Json entry = {{"key", metric.key}, {"title", metric.title}, {"better", name_of(metric.better)}};
    if (!metric.absent.empty()) entry["absent"] = metric.absent;
    if (!metric.table.empty()) entry["table"] = metric.table;
    if (metric.median) entry["statistic"] = "median";
    metrics.push_back(std::move(entry));
  }
  for (const VariantSummary& row : report.summary.variants) {
    Json entry = {{"name", row.variant}, {"metrics", Json::object()}};
    for (const auto& [key, interval] : row.metrics) entry["metrics"][key] = to_json(interval);
    variants.push_back(std::move(entry));
  }
  for (const PairSummary& row : report.summary.pairs) {
    Json entry = {{"a", row.a}, {"b", row.b}, {"metrics", Json::object()}};
    for (const auto& [key, value] : row.metrics) {
      Json& into = entry["metrics"][key];
      into = to_json(value.difference);
      into["wins"] = value.wins;
      into["losses"] = value.losses;
      into["mean_a"] = value.a;
      into["mean_b"] = value.b;
    }
    pairs.push_back(std::move(entry));
  }
  Json values = Json::object();
  for (const PartResult& part : report.parts) {
    for (const auto& [variant, by_metric] : part.values) {
      for (const auto& [metric, list] : by_metric) {
        Json numbers = Json::array();
        for (const double x : list) numbers.push_back(std::isfinite(x) ? Json(x) : Json());
        values[part.clip][variant][metric] = std::move(numbers);
      }
    }
  }
  Json failed = Json::array();
  for (const FailedClip& one : report.failed) {
    failed.push_back({{"group", one.group}, {"clip", one.clip}, {"reason", one.reason}});
  }
  return {{"title", report.title},
          {"settings", report.settings},
          {"clips", report.clips},
          {"weight", report.weight == Weight::kClips ? "clips" : "instants"},
          {"metrics", metrics},
          {"variants", variants},
          {"pairs", pairs},
          {"values", values},
          {"notes", report.notes},
          {"failed", failed},
          {"missing", report.missing}};
}

void write_report(const std::filesystem::path& folder, const Report& report) {
  write_file(folder / "results.json", to_json(report).dump(2) + "\n");
  write_file(folder / "summary.csv", summary_csv(report));
  write_file(folder / "pairs.csv", pairs_csv(report));
  write_file(folder / "values.csv", values_csv(report));
  write_file(folder / "report.html", to_html(report));
}

}  // namespace loci::eval
