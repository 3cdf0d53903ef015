// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "loci/camera/picture/canvas.h"

namespace loci::camera {

namespace {

double dot(const Point& a, const Point& b) { return a.x * b.x + a.y * b.y; }

double distance_to_segment(const Point& p, const Point& a, const Point& b) {
  const Point along = b - a;
  const double length2 = dot(along, along);
  const double t = length2 > 0 ? std::clamp(dot(p - a, along) / length2, 0.0, 1.0) : 0;
  const Point off = p - a - along * t;
  return std::sqrt(dot(off, off));
}

double distance_to_line(const Point& p, std::span<const Point> line) {
  double nearest = distance_to_segment(p, line.front(), line.front());
  for (size_t i = 1; i < line.size(); ++i) {
    nearest = std::min(nearest, distance_to_segment(p, line[i - 1], line[i]));
  }
  return nearest;
}

// Even-odd rule.
bool is_inside(const Point& p, std::span<const Point> polygon) {
  bool inside = false;
  for (size_t i = 0, j = polygon.size() - 1; i < polygon.size(); j = i++) {
    const Point& a = polygon[i];
    const Point& b = polygon[j];
    if ((a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x) {
      inside = !inside;
    }
  }
  return inside;
}

}  // namespace

PixelCanvas::PixelCanvas(int width, int height, const Colour& background) : Canvas(width, height) {
  pixels_.reserve(static_cast<size_t>(width) * height * 3);
  for (int i = 0; i < width * height; ++i) {
    pixels_.insert(pixels_.end(), {float(background.r), float(background.g), float(background.b)});
  }
}

template <typename Distance>
void PixelCanvas::paint(std::span<const Point> points, double margin, const Colour& colour,
                        const Distance& distance) {
  if (points.empty()) return;
  const auto [left, right] = std::minmax_element(
      points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  const auto [top, bottom] = std::minmax_element(
      points.begin(), points.end(), [](const Point& a, const Point& b) { return a.y < b.y; });
  const auto bound = [](double value, int limit) {
    return static_cast<int>(std::clamp(std::floor(value), 0.0, static_cast<double>(limit)));
  };
  const int x_end = bound(right->x + margin + 2, width());
  const int y_end = bound(bottom->y + margin + 2, height());
  for (int y = bound(top->y - margin - 1, height()); y < y_end; ++y) {
    for (int x = bound(left->x - margin - 1, width()); x < x_end; ++x) {
      const double coverage = std::clamp(0.5 - distance(Point{x + 0.5, y + 0.5}), 0.0, 1.0);
      if (coverage == 0) continue;
      const auto share = static_cast<float>(coverage * colour.alpha);
      float* pixel = pixels_.data() + (static_cast<size_t>(y) * width() + x) * 3;
      pixel[0] += share * (float(colour.r) - pixel[0]);
      pixel[1] += share * (float(colour.g) - pixel[1]);
      pixel[2] += share * (float(colour.b) - pixel[2]);
    }
  }
}

void PixelCanvas::fill(std::span<const Point> polygon, const Colour& colour) {
  if (polygon.size() < 3) return;
  std::vector<Point> outline(polygon.begin(), polygon.end());
  outline.push_back(polygon.front());
  paint(polygon, 0, colour, [&](const Point& p) {
    const double distance = distance_to_line(p, outline);
    return is_inside(p, polygon) ? -distance : distance;
  });
}

void PixelCanvas::stroke(std::span<const Point> line, double thickness, const Colour& colour) {
  paint(line, thickness / 2, colour,
        [&](const Point& p) { return distance_to_line(p, line) - thickness / 2; });
}

void PixelCanvas::disc(const Point& centre, double radius, const Colour& colour) {
  paint(std::span(&centre, 1), radius, colour,
        [&](const Point& p) { return distance_to_segment(p, centre, centre) - radius; });
}

void PixelCanvas::text(const Point& at, std::string_view words, double size, const Colour& colour,
                       Anchor anchor) {
  StrokedText strokes = stroke_text(words, size);
  const double shift = anchor == Anchor::kStart    ? 0
                       : anchor == Anchor::kMiddle ? -strokes.width / 2
                                                   : -strokes.width;
  for (std::vector<Point>& line : strokes.lines) {
    for (Point& point : line) point = point + at + Point{shift, 0};
    stroke(line, std::max(1.1, size / 11), colour);
  }
}

at::Tensor PixelCanvas::image() const {
  return at::tensor(pixels_, at::kFloat).round().to(at::kByte).view({height(), width(), 3});
}

}  // namespace loci::camera
