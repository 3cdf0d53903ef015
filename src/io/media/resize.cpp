// SPDX-License-Identifier: Apache-2.0
#include "loci/io/media/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "loci/io/media/image.h"

namespace loci::io {

namespace {

// Weights are integers with this many fractional bits, so that results do not depend on the
// compiler and equal PIL's: with 8 bits of the pixel and 2 spare bits for lobes they fill 32 bits.
constexpr int kWeightBits = 32 - 8 - 2;

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double filter_support(ResizeFilter filter) {
  switch (filter) {
    case ResizeFilter::kBilinear:
      return 1;
    case ResizeFilter::kBicubic:
      return 2;
    case ResizeFilter::kLanczos:
      return 3;
  }
  return 0;
}

double filter_value(ResizeFilter filter, double x) {
  x = std::abs(x);
  if (x >= filter_support(filter)) return 0;
  switch (filter) {
    case ResizeFilter::kBilinear:
      return 1 - x;
    case ResizeFilter::kBicubic: {
      constexpr double a = -0.5;
      return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : (((x - 5) * x + 8) * x - 4) * a;
    }
    case ResizeFilter::kLanczos:
      return sinc(x) * sinc(x / 3);
  }
  return 0;
}

// The inputs of one output, first, first + 1, …, and their weights.
struct Taps {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

std::vector<Taps> make_taps(int64_t input, int64_t output, ResizeFilter filter) {
  const double scale = static_cast<double>(input) / static_cast<double>(output);
  const double stretch = std::max(scale, 1.0);
  const double reach = filter_support(filter) * stretch;
  std::vector<Taps> all(output);
  std::vector<double> weights;
  for (int64_t i = 0; i < output; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = static_cast<int64_t>(std::max(centre - reach + 0.5, 0.0));
    const int64_t end = std::min(static_cast<int64_t>(std::floor(centre + reach + 0.5)), input);
    weights.clear();
    double sum = 0;
    for (int64_t j = first; j < end; ++j) {
      weights.push_back(filter_value(filter, (static_cast<double>(j) - centre + 0.5) / stretch));
      sum += weights.back();
    }
    all[i].first = first;
    for (const double weight : weights) {
      all[i].weights.push_back(static_cast<int32_t>(std::round(weight / sum * (1 << kWeightBits))));
    }
  }
  return all;
}

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

uint8_t to_pixel(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

// [height, width, 3] to [height, taps, 3]
at::Tensor resize_rows(const at::Tensor& image, const std::vector<Taps>& taps) {
  const int64_t height = image.size(0);
  const auto output = static_cast<int64_t>(taps.size());
  at::Tensor result = at::empty({height, output, 3}, at::kByte);
  uint8_t* target = result.data_ptr<uint8_t>();
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* row = image.data_ptr<uint8_t>() + y * image.size(1) * 3;
    for (const Taps& tap : taps) {
      const uint8_t* source = row + tap.first * 3;
      int32_t red = kHalf;
      int32_t green = kHalf;
      int32_t blue = kHalf;
      for (const int32_t weight : tap.weights) {
        red += weight * source[0];
        green += weight * source[1];
        blue += weight * source[2];
        source += 3;
      }
      *target++ = to_pixel(red);
      *target++ = to_pixel(green);
      *target++ = to_pixel(blue);
    }
  }
  return result;
}

// [height, width, 3] to [taps, width, 3]
at::Tensor resize_columns(const at::Tensor& image, const std::vector<Taps>& taps) {
  const int64_t row_size = image.size(1) * 3;
  at::Tensor result = at::empty({static_cast<int64_t>(taps.size()), image.size(1), 3}, at::kByte);
  uint8_t* target = result.data_ptr<uint8_t>();
  std::vector<int32_t> sums(row_size);
  for (const Taps& tap : taps) {
    std::fill(sums.begin(), sums.end(), kHalf);
    const uint8_t* source = image.data_ptr<uint8_t>() + tap.first * row_size;
    for (const int32_t weight : tap.weights) {
      for (int64_t x = 0; x < row_size; ++x) sums[x] += weight * source[x];
      source += row_size;
    }
    target = std::transform(sums.begin(), sums.end(), target, to_pixel);
  }
  return result;
}

}  // namespace

at::Tensor resize_image(const at::Tensor& image, int64_t width, int64_t height,
                        ResizeFilter filter) {
  at::Tensor result = checked_image(image);
  check_image_size(width, height, "resized image");
  if (width != result.size(1)) {
    result = resize_rows(result, make_taps(result.size(1), width, filter));
  }
  if (height != result.size(0)) {
    result = resize_columns(result, make_taps(result.size(0), height, filter));
  }
  return result;
}

FittedImage resize_and_crop(const at::Tensor& image, int64_t width, int64_t height,
                            ResizeFilter filter) {
  const at::Tensor source = checked_image(image);
  check_image_size(width, height, "resized image");
  const int64_t source_width = source.size(1);
  const int64_t source_height = source.size(0);
  const double scale = std::max(static_cast<double>(width) / static_cast<double>(source_width),
                                static_cast<double>(height) / static_cast<double>(source_height));
  // Rounds half to even like Python.
  const auto scaled = [&](int64_t side) {
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(side) * scale));
  };
  const int64_t full_width = std::max(scaled(source_width), width);
  const int64_t full_height = std::max(scaled(source_height), height);
  const at::Tensor covering = resize_image(source, full_width, full_height, filter);
  const int64_t left = (full_width - width) / 2;
  const int64_t top = (full_height - height) / 2;

  FittedImage result;
  result.image = covering.slice(0, top, top + height).slice(1, left, left + width).contiguous();
  if (full_width != source_width || full_height != source_height) {
    result.note = fmt::format("resized from {} x {} to {} x {}", source_width, source_height,
                              full_width, full_height);
  }
  const auto add_cut = [&](int64_t before, int64_t after, const char* first, const char* second) {
    if (before + after == 0) return;
    if (!result.note.empty()) result.note += ", ";
    result.note += fmt::format("cut {} pixels {} and {} {}", before, first, after, second);
  };
  add_cut(left, full_width - width - left, "left", "right");
  add_cut(top, full_height - height - top, "above", "below");
  return result;
}

}  // namespace loci::io
