// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/report/line_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "loci/camera/picture/canvas.h"

namespace loci::eval {

namespace {

using camera::Anchor;
using camera::Colour;
using camera::Point;

constexpr int kPanelWidth = 480, kPanelHeight = 338;
constexpr int kLeft = 70, kRight = 20, kTop = 46, kBottom = 50;
constexpr int kLegendLine = 22;
constexpr double kLetter = 7.5;  // mean width of a letter of the legend, pixels
constexpr int kTicks = 6;
constexpr Colour kInk{40, 40, 40};
constexpr Colour kGrid{225, 225, 225};
constexpr std::array kColours = {Colour{27, 119, 180}, Colour{214, 90, 20},  Colour{40, 150, 70},
                                 Colour{150, 60, 170}, Colour{120, 90, 40},  Colour{200, 40, 60},
                                 Colour{20, 160, 170}, Colour{110, 110, 110}};

bool finite(const std::pair<double, double>& pair) {
  return std::isfinite(pair.first) && std::isfinite(pair.second);
}

// Axis range in whole steps that contains all values.
struct Axis {
  double begin = 0, step = 1;
  int ticks = 1;  // number of steps

  Axis(double low, double high) {
    if (!(high > low)) high = low + (low == 0 ? 1 : std::abs(low));
    step = tick_step(high - low, kTicks);
    begin = std::floor(low / step + 1e-9) * step;
    ticks = std::max(1, static_cast<int>(std::ceil((high - begin) / step - 1e-9)));
  }
  double share(double value) const { return (value - begin) / (step * ticks); }
  double tick(int i) const { return begin + i * step; }
  std::string label(int i) const {
    const double value = tick(i);
    return fmt::format("{:g}", std::abs(value) < 1e-9 * step ? 0 : value);
  }
};

struct Axes {
  Axis x, y;
};

Axes axes_of(const PlotPanel& panel) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double right = 0, low = kNone, high = -kNone;
  const auto include = [&](double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  };
  for (const PlotSeries& series : panel.series) {
    for (const auto& point : series.points) {
      if (!finite(point)) continue;
      right = std::max(right, point.first);
      include(point.second);
    }
    for (const auto& interval : series.intervals) {
      if (!finite(interval)) continue;
      include(interval.first);
      include(interval.second);
    }
  }
  if (panel.from_zero || low == kNone) include(0);
  return {Axis(0, right), Axis(low, high)};
}

void draw_panel(camera::Canvas& canvas, const PlotPanel& panel, double left) {
  const Axes axes = axes_of(panel);
  const double width = kPanelWidth - kLeft - kRight, height = kPanelHeight - kTop - kBottom;
  const auto place = [&](double x, double y) {
    return Point{left + kLeft + axes.x.share(x) * width, kTop + height - axes.y.share(y) * height};
  };
  const double x_end = axes.x.tick(axes.x.ticks), y_end = axes.y.tick(axes.y.ticks);
  canvas.text({left + kLeft, 26}, panel.title, 15, kInk);
  for (int i = 0; i <= axes.x.ticks; ++i) {
    const std::array line = {place(axes.x.tick(i), axes.y.begin), place(axes.x.tick(i), y_end)};
    canvas.stroke(line, 1, kGrid);
    canvas.text(line[0] + Point{0, 18}, axes.x.label(i), 12, kInk, Anchor::kMiddle);
  }
  for (int i = 0; i <= axes.y.ticks; ++i) {
    const std::array line = {place(0, axes.y.tick(i)), place(x_end, axes.y.tick(i))};
    canvas.stroke(line, 1, kGrid);
    canvas.text(line[0] + Point{-8, 4}, axes.y.label(i), 12, kInk, Anchor::kEnd);
  }
  canvas.text(place(x_end / 2, axes.y.begin) + Point{0, 38}, panel.x_label, 12, kInk,
              Anchor::kMiddle);
  for (size_t s = 0; s < panel.series.size(); ++s) {
    const PlotSeries& series = panel.series[s];
    const Colour& colour = kColours[s % kColours.size()];
    std::vector<Point> line;
    for (size_t i = 0; i < series.points.size(); ++i) {
      if (!finite(series.points[i])) continue;
      const auto& [x, y] = series.points[i];
      line.push_back(place(x, y));
      if (i >= series.intervals.size() || !finite(series.intervals[i])) continue;
      const std::array bar = {place(x, series.intervals[i].first),
                              place(x, series.intervals[i].second)};
      canvas.stroke(bar, 1, colour.with_alpha(0.6));
    }
    if (line.size() > 1) canvas.stroke(line, 2, colour);
    for (const Point& point : line) canvas.disc(point, 2.5, colour);
  }
}

// Position of a legend entry: line, and distance from the left.
struct LegendPlace {
  int line = 0;
  double x = 0;
};
std::vector<LegendPlace> legend_places(const std::vector<PlotSeries>& series, double width) {
  std::vector<LegendPlace> places;
  LegendPlace next{0, kLeft};
  for (const PlotSeries& one : series) {
    const double length = 60 + kLetter * static_cast<double>(one.name.size());
    if (next.x > kLeft && next.x + length > width) next = {next.line + 1, kLeft};
    places.push_back(next);
    next.x += length;
  }
  return places;
}

}  // namespace

double tick_step(double span, int ticks) {
  const double power = std::pow(10.0, std::floor(std::log10(span / ticks)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (span / (factor * power) <= ticks * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::string svg_plot(const std::vector<PlotPanel>& panels) {
  // Panels may lack series at the end; the longest list has all names.
  std::vector<PlotSeries> names;
  for (const PlotPanel& panel : panels) {
    if (panel.series.size() > names.size()) names = panel.series;
  }
  const int width = kPanelWidth * std::max(1, static_cast<int>(panels.size()));
  const std::vector<LegendPlace> places = legend_places(names, width);
  const int lines = places.empty() ? 0 : places.back().line + 1;
  camera::SvgCanvas svg(width, kPanelHeight + kLegendLine * lines + 10, Colour{255, 255, 255});
  camera::Canvas& canvas = svg;
  for (size_t i = 0; i < panels.size(); ++i) {
    draw_panel(canvas, panels[i], static_cast<double>(i) * kPanelWidth);
  }
  for (size_t s = 0; s < names.size(); ++s) {
    const double y = kPanelHeight + kLegendLine * places[s].line + 12;
    const std::array line = {Point{places[s].x, y - 4}, Point{places[s].x + 22, y - 4}};
    canvas.stroke(line, 3, kColours[s % kColours.size()]);
    canvas.text({places[s].x + 28, y}, names[s].name, 13, kInk);
  }
  return svg.finish();
}

}  // namespace loci::eval
