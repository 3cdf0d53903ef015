// SPDX-License-Identifier: Apache-2.0
// Line plots of a few series as an SVG file.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace loci::eval {

struct PlotSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // by x; those that are not finite are left out
  // From and to, drawn as a bar through each point; as many as points, or none.
  std::vector<std::pair<double, double>> intervals = {};
};

struct PlotPanel {
  std::string title, x_label;
  std::vector<PlotSeries> series;
  // The vertical axis starts at zero, or else near the lowest value.
  bool from_zero = true;
};

// Panels beside each other, x from zero, one legend for all: series of the same place in a panel
// have the same colour.
std::string svg_plot(const std::vector<PlotPanel>& panels);

// The smallest of 1, 2, 5 times a power of ten that divides `span` into at most `ticks` steps.
double tick_step(double span, int ticks);

}  // namespace loci::eval
