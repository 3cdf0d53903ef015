// SPDX-License-Identifier: Apache-2.0
// Result of one clip with one group of variants: the unit of work, which is stored in a file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"

namespace loci::eval {

// Values of one clip by metric key: one per frame, one per revisit, or a single one.
using MetricValues = std::map<std::string, std::vector<double>>;

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct PictureCell {
  std::string label;
  std::string jpeg;  // base64
};

// Pictures side by side, e.g. a recorded frame and the same frame of every variant. The report
// merges rows of one clip that have the same title.
struct PictureRow {
  std::string title;
  std::vector<PictureCell> cells;
};

struct PartResult {
  std::string group, clip;
  std::map<std::string, MetricValues> values;        // by variant
  std::map<std::string, std::vector<Curve>> curves;  // by variant
  std::vector<PictureRow> pictures;

  Json to_json() const;
  // Malformed JSON is bad input; the error names `where`.
  static PartResult from_json(const Json& json, const std::string& where);
};

// The mean over repeated runs, such as seeds: of the values with the same key and index, and of the
// points of curves with the same name. Non-finite values are ignored.
MetricValues mean_of(const std::vector<MetricValues>& runs);
std::vector<Curve> mean_of(const std::vector<std::vector<Curve>>& runs);

// `picture` is uint8 [H, W, 3]; it is scaled down to at most `width` pixels.
PictureCell make_cell(std::string label, const at::Tensor& picture, int64_t width = 320);

std::string to_base64(const void* data, size_t size);

}  // namespace loci::eval
