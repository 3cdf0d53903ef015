// SPDX-License-Identifier: Apache-2.0
// HTML page of a report: tables, plots as inline SVG, pictures as embedded JPEG.
#include <algorithm>
#include <cmath>
#include <map>

#include "loci/base/text.h"
#include "loci/eval/report/report.h"

namespace loci::eval {

namespace {

constexpr size_t kMaxPictureRows = 24;  // limits the page to a few megabytes

constexpr std::string_view kStyle = R"(
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; margin: 0 auto;
  max-width: 1500px; padding: 24px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 36px 0 8px; }
h3 { font-size: 15px; margin: 20px 0 6px; }
p, li { max-width: 75ch; } .small { color: #666; font-size: 13px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 10px; text-align: right; border-bottom: 1px solid #e4e4e4; }
td { white-space: nowrap; } .dense th, .dense td { padding: 5px; }
th:first-child, td:first-child { text-align: left; } thead th { border-bottom: 2px solid #999;
  vertical-align: bottom; }
td .range { color: #777; font-size: 12px; font-weight: 400; display: block; } td.best { font-weight: 650; }
td.sure { background: #e9f5ea; } td.sure.worse { background: #fbecea; }
.pictures { display: flex; flex-wrap: wrap; gap: 8px; } figure { margin: 0; }
figcaption { font-size: 12px; color: #555; } img { display: block; max-width: 100%; }
.plot svg { max-width: 100%; height: auto; } details { margin-top: 28px; }
details + details { margin-top: 4px; }
pre { background: #f6f6f6; padding: 12px; overflow-x: auto; font-size: 12px; }
)";

std::string escape(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string_view arrow(Metric::Better better) {
  switch (better) {
    case Metric::Better::kHigher:
      return " ↑";
    case Metric::Better::kLower:
      return " ↓";
    case Metric::Better::kNearOne:
      return " → 1";
    case Metric::Better::kNeither:
      break;
  }
  return "";
}

// Start of a table; many columns have less space between them.
std::string table_start(const std::vector<Metric>& metrics) {
  constexpr size_t kManyColumns = 10;
  return metrics.size() > kManyColumns ? "<div class=\"wide\"><table class=\"dense\">"
                                       : "<div class=\"wide\"><table>";
}

std::string header(const std::vector<Metric>& metrics, std::string_view first) {
  std::string html = fmt::format("<thead><tr><th>{}</th>", first);
  for (const Metric& metric : metrics) {
    html += fmt::format("<th>{}{}{}</th>", escape(metric.title), metric.median ? ", median" : "",
                        arrow(metric.better));
  }
  return html + "</tr></thead>\n";
}

// Headings of the tables in order, without the first table.
std::vector<std::string> other_tables(const Report& report) {
  std::vector<std::string> list;
  for (const Metric& metric : report.metrics) {
    if (!metric.table.empty() && std::find(list.begin(), list.end(), metric.table) == list.end()) {
      list.push_back(metric.table);
    }
  }
  return list;
}

// Metrics of a table for which at least one variant has a value.
std::vector<Metric> present(const Report& report, const std::string& table) {
  std::vector<Metric> list;
  for (const Metric& metric : report.metrics) {
    if (metric.table != table) continue;
    const bool any =
        std::any_of(report.summary.variants.begin(), report.summary.variants.end(),
                    [&](const VariantSummary& row) { return row.metrics.contains(metric.key); });
    if (any) list.push_back(metric);
  }
  return list;
}

double distance_to_best(double value, Metric::Better better) {
  if (better == Metric::Better::kLower) return value;
  if (better == Metric::Better::kNearOne) return std::abs(value - 1);
  return -value;
}

std::string variant_table(const Report& report, const std::vector<Metric>& metrics) {
  std::map<std::string, double> best;  // smallest distance to the optimum, by metric
  for (const VariantSummary& row : report.summary.variants) {
    for (const Metric& metric : metrics) {
      const auto found = row.metrics.find(metric.key);
      if (found == row.metrics.end() || metric.better == Metric::Better::kNeither) continue;
      const double away = distance_to_best(found->second.mean, metric.better);
      const auto [at, first] = best.try_emplace(metric.key, away);
      if (!first) at->second = std::min(at->second, away);
    }
  }
  std::string html = table_start(metrics) + header(metrics, "") + "<tbody>\n";
  for (const VariantSummary& row : report.summary.variants) {
    html += fmt::format("<tr><td>{}</td>", escape(row.variant));
    for (const Metric& metric : metrics) {
      const auto found = row.metrics.find(metric.key);
      if (found == row.metrics.end()) {
        html += "<td>–</td>";
        continue;
      }
      const Interval& i = found->second;
      const auto top = best.find(metric.key);
      const bool is_best =
          top != best.end() && distance_to_best(i.mean, metric.better) == top->second;
      html += fmt::format(
          "<td{}>{:.{}f}<span class=\"range\">[{:.{}f}, {:.{}f}] {} / {}</span></td>",
          is_best && report.summary.variants.size() > 1 ? " class=\"best\"" : "", i.mean,
          metric.digits, i.low, metric.digits, i.high, metric.digits, i.values, i.clips);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string pair_table(const Report& report, const std::vector<Metric>& metrics) {
  std::string html = table_start(metrics) + header(metrics, "difference") + "<tbody>\n";
  for (const PairSummary& row : report.summary.pairs) {
    html += fmt::format("<tr><td>{} − {}</td>", escape(row.a), escape(row.b));
    for (const Metric& metric : metrics) {
      const auto found = row.metrics.find(metric.key);
      if (found == row.metrics.end()) {
        html += "<td>–</td>";
        continue;
      }
      const PairSummary::Entry& e = found->second;
      const Interval& i = e.difference;
      // The interval of a single clip has no width and is not significant.
      const bool sure =
          i.clips > 1 && (i.low > 0 || i.high < 0) && metric.better != Metric::Better::kNeither;
      std::string won;
      if (metric.better != Metric::Better::kNeither) {
        won = fmt::format(", won {} / {}", e.wins, i.clips);
      }
      const bool good = metric.better == Metric::Better::kHigher  ? i.mean > 0
                        : metric.better == Metric::Better::kLower ? i.mean < 0
                                                                  : e.wins >= e.losses;
      html += fmt::format(
          "<td{} title=\"{:.{}f} − {:.{}f} on {} common clips\">{:+.{}f}<span class=\"range\">"
          "[{:+.{}f}, {:+.{}f}]{}</span></td>",
          !sure  ? ""
          : good ? " class=\"sure\""
                 : " class=\"sure worse\"",
          e.a, metric.digits, e.b, metric.digits, i.clips, i.mean, metric.digits, i.low,
          metric.digits, i.high, metric.digits, won);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

// A paragraph per reason for which metrics are absent.
std::string absent_notes(const Report& report) {
  std::vector<std::pair<std::string, std::string>> notes;  // reason, titles
  for (const Metric& metric : report.metrics) {
    if (metric.absent.empty()) continue;
    const auto same = [&](const auto& note) { return note.first == metric.absent; };
    const auto found = std::find_if(notes.begin(), notes.end(), same);
    if (found == notes.end()) {
      notes.emplace_back(metric.absent, metric.title);
    } else {
      found->second += ", " + metric.title;
    }
  }
  std::string html;
  for (const auto& [reason, titles] : notes) {
    html += fmt::format("<p class=\"small\">{}: {}.</p>\n", escape(titles), escape(reason));
  }
  return html;
}

// Picture rows of several parts with the same clip and title, merged.
struct MergedRow {
  std::string clip;
  PictureRow row;
};
std::vector<MergedRow> merge_rows(const std::vector<PartResult>& parts) {
  std::vector<MergedRow> rows;
  for (const PartResult& part : parts) {
    for (const PictureRow& row : part.pictures) {
      auto found = std::find_if(rows.begin(), rows.end(), [&](const MergedRow& other) {
        return other.clip == part.clip && other.row.title == row.title;
      });
      if (found == rows.end()) {
        rows.push_back({part.clip, row});
        continue;
      }
      for (const PictureCell& cell : row.cells) {
        const auto same = [&](const PictureCell& other) { return other.label == cell.label; };
        if (std::none_of(found->row.cells.begin(), found->row.cells.end(), same)) {
          found->row.cells.push_back(cell);
        }
      }
    }
  }
  return rows;
}

// What is missing: clips that failed, and whether the run goes on.
std::string incomplete_section(const Report& report) {
  std::string html;
  if (report.missing > 0) {
    html += fmt::format("<p><strong>Partial report: {} results are missing.</strong></p>\n",
                        report.missing);
  }
  if (report.failed.empty()) return html;
  html += fmt::format(
      "<p><strong>Missing clips: {}.</strong> They are not in the tables; differences cover the "
      "clips that both variants have. The same command tries them again.</p>\n"
      "<table><thead><tr><th>clip</th><th>variants</th><th>reason</th></tr></thead><tbody>\n",
      report.failed.size());
  for (const FailedClip& one : report.failed) {
    html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", escape(one.clip),
                        escape(one.group), escape(one.reason));
  }
  return html + "</tbody></table>\n";
}

std::string picture_section(const Report& report) {
  const std::vector<MergedRow> rows = merge_rows(report.parts);
  if (rows.empty()) return {};
  std::string html = "<h2>Frames</h2>\n";
  for (size_t i = 0; i < std::min(rows.size(), kMaxPictureRows); ++i) {
    html += fmt::format("<h3>{}: {}</h3>\n<div class=\"pictures\">\n", escape(rows[i].clip),
                        escape(rows[i].row.title));
    for (const PictureCell& cell : rows[i].row.cells) {
      html += fmt::format(
          "<figure><img alt=\"{0}\" src=\"data:image/jpeg;base64,{1}\"><figcaption>{0}"
          "</figcaption></figure>\n",
          escape(cell.label), cell.jpeg);
    }
    html += "</div>\n";
  }
  if (rows.size() > kMaxPictureRows) {
    html += fmt::format("<p class=\"small\">parts/ contains {} more rows.</p>\n",
                        rows.size() - kMaxPictureRows);
  }
  return html;
}

}  // namespace

std::string to_html(const Report& report) {
  const std::vector<Metric> metrics = present(report, "");
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n"
      "<style>{}</style></head>\n<body>\n<h1>{}</h1>\n<p class=\"small\">clips: {}, "
      "variants: {}</p>\n",
      escape(report.title), kStyle, escape(report.title), report.clips.size(),
      report.summary.variants.size());
  html += incomplete_section(report);
  for (const std::string& note : report.notes) html += "<p>" + escape(note) + "</p>\n";
  html += fmt::format(
      "<h2>Results</h2>\n<p class=\"small\">Mean, 95 % interval, values / clips. {} Intervals are "
      "percentiles over 10,000 bootstrap resamples of whole clips.</p>\n",
      report.weight == Weight::kClips ? "Every clip has the same weight."
                                      : "Every value has the same weight.");
  html += variant_table(report, metrics);
  html += absent_notes(report);
  for (const std::string& table : other_tables(report)) {
    const std::vector<Metric> columns = present(report, table);
    if (columns.empty()) continue;
    html += fmt::format("<h3>{}</h3>\n", escape(table)) + variant_table(report, columns);
  }
  if (!report.summary.pairs.empty()) {
    html +=
        "<h2>Paired differences</h2>\n<p class=\"small\">First minus second variant on the clips "
        "that both have. Shaded cells: the 95 % interval excludes zero. Won: number of clips in "
        "which the "
        "first variant is better.</p>\n" +
        pair_table(report, metrics);
    for (const std::string& table : other_tables(report)) {
      const std::vector<Metric> columns = present(report, table);
      if (columns.empty()) continue;
      html += fmt::format("<details><summary>{}</summary>\n{}</details>\n", escape(table),
                          pair_table(report, columns));
    }
  }
  for (const std::vector<PlotPanel>& panels : report.plots) {
    html += "<div class=\"plot\">" + svg_plot(panels) + "</div>\n";
  }
  html += picture_section(report);
  html += "<details><summary>Settings</summary><pre>" + escape(report.settings.dump(2)) +
          "</pre></details>\n</body>\n</html>\n";
  return html;
}

}  // namespace loci::eval
