// SPDX-License-Identifier: Apache-2.0
// What a suite found out about one clip with one model: the unit of work that is done once and
// kept in a file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"

namespace loci::eval {

// By metric; the values of a clip are its frames, revisits, …, or just one.
using MetricValues = std::map<std::string, std::vector<double>>;

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct PictureCell {
  std::string label;
  std::string jpeg;  // in base64
};

// Pictures beside each other, e.g. one instant as recorded and as every variant made it. Rows of
// one title in parts of one clip are one row.
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
  // What does not read as such is bad input naming `where`.
  static PartResult from_json(const Json& json, const std::string& where);
};

// `picture` (uint8 [H, W, 3]) at most `width` pixels wide.
PictureCell make_cell(std::string label, const at::Tensor& picture, int64_t width = 320);

std::string to_base64(const void* data, size_t size);

}  // namespace loci::eval
