// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/part_result.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "loci/base/error.h"
#include "loci/io/media/image.h"
#include "loci/io/media/resize.h"

namespace loci::eval {

namespace {

constexpr int kVersion = 1;
constexpr int kQuality = 85;

// JSON cannot represent NaN and infinity; they are stored as null.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

double number_from(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

Json to_json(const Curve& curve) {
  Json x = Json::array(), y = Json::array();
  for (const auto& [at, value] : curve.points) {
    x.push_back(number(at));
    y.push_back(number(value));
  }
  return {{"name", curve.name}, {"x", x}, {"y", y}};
}

Curve curve_from(const Json& json) {
  Curve curve{json.at("name"), {}};
  const Json &x = json.at("x"), &y = json.at("y");
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    curve.points.emplace_back(number_from(x.at(i)), number_from(y.at(i)));
  }
  return curve;
}

}  // namespace

Json PartResult::to_json() const {
  Json all_values = Json::object(), all_curves = Json::object(), rows = Json::array();
  for (const auto& [variant, metrics] : values) {
    for (const auto& [metric, list] : metrics) all_values[variant][metric] = numbers(list);
  }
  for (const auto& [variant, list] : curves) {
    for (const Curve& curve : list) all_curves[variant].push_back(eval::to_json(curve));
  }
  for (const PictureRow& row : pictures) {
    Json cells = Json::array();
    for (const PictureCell& cell : row.cells) {
      cells.push_back({{"label", cell.label}, {"jpeg", cell.jpeg}});
    }
    rows.push_back({{"title", row.title}, {"cells", cells}});
  }
  return {{"version", kVersion},  {"group", group},       {"clip", clip},
          {"values", all_values}, {"curves", all_curves}, {"pictures", rows}};
}

PartResult PartResult::from_json(const Json& json, const std::string& where) {
  try {
    if (json.at("version") != kVersion)
      fail("{}: unsupported version; delete the file and run the command again", where);
    PartResult part;
    part.group = json.at("group");
    part.clip = json.at("clip");
    for (const auto& [variant, metrics] : json.at("values").items()) {
      MetricValues& into = part.values[variant];
      for (const auto& [metric, list] : metrics.items()) {
        for (const Json& value : list) into[metric].push_back(number_from(value));
        into[metric];  // creates the entry if the list is empty
      }
    }
    for (const auto& [variant, list] : json.at("curves").items()) {
      for (const Json& curve : list) part.curves[variant].push_back(curve_from(curve));
    }
    for (const Json& row : json.at("pictures")) {
      PictureRow& into = part.pictures.emplace_back();
      into.title = row.at("title");
      for (const Json& cell : row.at("cells")) {
        into.cells.push_back({cell.at("label"), cell.at("jpeg")});
      }
    }
    return part;
  } catch (const Json::exception&) {
    fail("{}: not a clip result; delete the file and run the command again", where);
  }
}

namespace {

// By index; lists may have different lengths.
std::vector<double> mean_of(const std::vector<const std::vector<double>*>& lists) {
  std::vector<double> means;
  for (size_t i = 0;; ++i) {
    double sum = 0;
    int count = 0;
    bool any = false;
    for (const std::vector<double>* list : lists) {
      if (i >= list->size()) continue;
      any = true;
      if (!std::isfinite((*list)[i])) continue;
      sum += (*list)[i];
      ++count;
    }
    if (!any) return means;
    means.push_back(count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN());
  }
}

}  // namespace

MetricValues mean_of(const std::vector<MetricValues>& runs) {
  if (runs.size() == 1) return runs.front();
  std::map<std::string, std::vector<const std::vector<double>*>> lists;
  for (const MetricValues& run : runs) {
    for (const auto& [key, list] : run) lists[key].push_back(&list);
  }
  MetricValues means;
  for (const auto& [key, list] : lists) means[key] = mean_of(list);
  return means;
}

std::vector<Curve> mean_of(const std::vector<std::vector<Curve>>& runs) {
  std::vector<Curve> means = runs.front();
  for (size_t c = 0; c < means.size(); ++c) {
    std::vector<std::vector<double>> values;
    for (const std::vector<Curve>& run : runs) {
      LOCI_CHECK(c < run.size() && run[c].name == means[c].name, "runs with different curves");
      std::vector<double>& list = values.emplace_back();
      for (const auto& point : run[c].points) list.push_back(point.second);
    }
    std::vector<const std::vector<double>*> lists;
    for (const std::vector<double>& list : values) lists.push_back(&list);
    const std::vector<double> mean = mean_of(lists);
    for (size_t i = 0; i < means[c].points.size(); ++i) means[c].points[i].second = mean[i];
  }
  return means;
}

PictureCell make_cell(std::string label, const at::Tensor& picture, int64_t width) {
  at::Tensor image = io::checked_image(picture);
  if (image.size(1) > width) {
    image =
        io::resize_image(image, width, std::max<int64_t>(1, image.size(0) * width / image.size(1)));
  }
  const std::vector<std::byte> bytes = io::encode_jpeg(image, kQuality);
  return {std::move(label), to_base64(bytes.data(), bytes.size())};
}

std::string to_base64(const void* data, size_t size) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::string text;
  text.reserve((size + 2) / 3 * 4);
  for (size_t i = 0; i < size; i += 3) {
    const size_t left = std::min<size_t>(3, size - i);
    uint32_t word = 0;
    for (size_t j = 0; j < 3; ++j) word = word << 8 | (j < left ? bytes[i + j] : 0);
    for (size_t j = 0; j < 4; ++j) {
      text += j <= left ? kDigits[word >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

}  // namespace loci::eval
