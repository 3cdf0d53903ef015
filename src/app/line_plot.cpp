// SPDX-License-Identifier: Apache-2.0
#include "loci/app/line_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "loci/camera/picture/canvas.h"

namespace loci::app {

namespace {

using camera::Anchor;
using camera::Colour;
using camera::Point;

constexpr int kPanelWidth = 480, kHeight = 380;
constexpr int kLeft = 70, kRight = 20, kTop = 46, kBottom = 92;
constexpr int kTicks = 6;
constexpr Colour kInk{40, 40, 40};
constexpr Colour kGrid{225, 225, 225};
constexpr std::array kColours = {Colour{27, 119, 180}, Colour{214, 90, 20}, Colour{40, 150, 70},
                                 Colour{150, 60, 170}, Colour{120, 90, 40}, Colour{200, 40, 60}};

double largest(const PlotPanel& panel, double std::pair<double, double>::*axis) {
  double most = 0;
  for (const PlotSeries& series : panel.series) {
    for (const auto& point : series.points) most = std::max(most, point.*axis);
  }
  return most > 0 ? most : 1;
}

void draw_panel(camera::Canvas& canvas, const PlotPanel& panel, double left) {
  const double x_step = tick_step(largest(panel, &std::pair<double, double>::first), kTicks);
  const double y_step = tick_step(largest(panel, &std::pair<double, double>::second), kTicks);
  const double x_end =
      std::ceil(largest(panel, &std::pair<double, double>::first) / x_step - 1e-9) * x_step;
  const double y_end =
      std::ceil(largest(panel, &std::pair<double, double>::second) / y_step - 1e-9) * y_step;
  const double width = kPanelWidth - kLeft - kRight, height = kHeight - kTop - kBottom;
  const auto place = [&](double x, double y) {
    return Point{left + kLeft + x / x_end * width, kTop + height - y / y_end * height};
  };
  canvas.text({left + kLeft, 26}, panel.title, 15, kInk);
  for (int i = 0; i * x_step <= x_end * (1 + 1e-9); ++i) {
    const std::array line = {place(i * x_step, 0), place(i * x_step, y_end)};
    canvas.stroke(line, 1, kGrid);
    canvas.text(line[0] + Point{0, 18}, fmt::format("{:g}", i * x_step), 12, kInk, Anchor::kMiddle);
  }
  for (int i = 0; i * y_step <= y_end * (1 + 1e-9); ++i) {
    const std::array line = {place(0, i * y_step), place(x_end, i * y_step)};
    canvas.stroke(line, 1, kGrid);
    canvas.text(line[0] + Point{-8, 4}, fmt::format("{:g}", i * y_step), 12, kInk, Anchor::kEnd);
  }
  canvas.text(place(x_end / 2, 0) + Point{0, 38}, panel.x_label, 12, kInk, Anchor::kMiddle);
  for (size_t s = 0; s < panel.series.size(); ++s) {
    const Colour& colour = kColours[s % kColours.size()];
    std::vector<Point> line;
    for (const auto& [x, y] : panel.series[s].points) line.push_back(place(x, y));
    if (line.size() > 1) canvas.stroke(line, 2, colour);
    for (const Point& point : line) canvas.disc(point, 2.5, colour);
  }
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
  camera::SvgCanvas svg(kPanelWidth * static_cast<int>(panels.size()), kHeight,
                        Colour{255, 255, 255});
  camera::Canvas& canvas = svg;
  for (size_t i = 0; i < panels.size(); ++i) {
    draw_panel(canvas, panels[i], static_cast<double>(i) * kPanelWidth);
  }
  double x = kLeft;
  for (size_t s = 0; !panels.empty() && s < panels.front().series.size(); ++s) {
    const std::string& name = panels.front().series[s].name;
    const std::array line = {Point{x, kHeight - 22}, Point{x + 22, kHeight - 22}};
    canvas.stroke(line, 3, kColours[s % kColours.size()]);
    canvas.text({x + 28, kHeight - 18}, name, 13, kInk);
    x += 60 + 7.5 * static_cast<double>(name.size());
  }
  return svg.finish();
}

}  // namespace loci::app
