// SPDX-License-Identifier: Apache-2.0
// Line plots as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace loci::eval {

struct PlotSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // ascending in x; non-finite points are skipped
  // Low and high end of an error bar per point; as many as points, or empty.
  std::vector<std::pair<double, double>> intervals = {};
};

struct PlotPanel {
  std::string title, x_label;
  std::vector<PlotSeries> series;
  // Whether the vertical axis starts at zero instead of near the lowest value.
  bool from_zero = true;
};

// Draws panels side by side, with x axes from zero and one common legend. Series with the same
// index have the same colour in all panels.
std::string svg_plot(const std::vector<PlotPanel>& panels);

// The smallest step of the form {1, 2, 5} * 10^n that divides `span` into at most `ticks` steps.
double tick_step(double span, int ticks);

}  // namespace loci::eval
