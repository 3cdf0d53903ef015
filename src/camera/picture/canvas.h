// SPDX-License-Identifier: Apache-2.0
// Simple anti-aliased drawing to an SVG file or to pixels, with equal results.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::camera {

// Pixels from the upper left corner.
struct Point {
  double x = 0, y = 0;

  Point operator+(const Point& o) const { return {x + o.x, y + o.y}; }
  Point operator-(const Point& o) const { return {x - o.x, y - o.y}; }
  Point operator*(double s) const { return {x * s, y * s}; }
};

struct Colour {
  uint8_t r = 0, g = 0, b = 0;
  double alpha = 1;

  Colour with_alpha(double a) const { return {r, g, b, a}; }
};

enum class Anchor { kStart, kMiddle, kEnd };

class Canvas {
 public:
  Canvas(int width, int height) : width_(width), height_(height) {}
  virtual ~Canvas() = default;

  int width() const { return width_; }
  int height() const { return height_; }

  virtual void fill(std::span<const Point> polygon, const Colour& colour) = 0;
  // A polyline with round joins and ends.
  virtual void stroke(std::span<const Point> line, double thickness, const Colour& colour) = 0;
  virtual void disc(const Point& centre, double radius, const Colour& colour) = 0;
  // One line of text with its baseline at `at`. `size` is the height of a line in pixels.
  virtual void text(const Point& at, std::string_view words, double size, const Colour& colour,
                    Anchor anchor = Anchor::kStart) = 0;

 private:
  int width_, height_;
};

class SvgCanvas : public Canvas {
 public:
  SvgCanvas(int width, int height, const Colour& background);

  void fill(std::span<const Point> polygon, const Colour& colour) override;
  void stroke(std::span<const Point> line, double thickness, const Colour& colour) override;
  void disc(const Point& centre, double radius, const Colour& colour) override;
  void text(const Point& at, std::string_view words, double size, const Colour& colour,
            Anchor anchor) override;

  // The complete SVG file.
  std::string finish() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

// A pixel's coverage is the signed distance of its centre from the outline, clamped to 0 … 1.
class PixelCanvas : public Canvas {
 public:
  PixelCanvas(int width, int height, const Colour& background);

  void fill(std::span<const Point> polygon, const Colour& colour) override;
  void stroke(std::span<const Point> line, double thickness, const Colour& colour) override;
  void disc(const Point& centre, double radius, const Colour& colour) override;
  void text(const Point& at, std::string_view words, double size, const Colour& colour,
            Anchor anchor) override;

  // uint8 [height, width, 3].
  at::Tensor image() const;

 private:
  // Blends `colour` where distance(point) < 0, inside the bounding box of the points plus `margin`.
  template <typename Distance>
  void paint(std::span<const Point> points, double margin, const Colour& colour,
             const Distance& distance);

  std::vector<float> pixels_;  // [height, width, 3], 0 … 255
};

// Text as strokes, for canvases without fonts. `size` is the height of a line; the baseline is at
// (0, 0).
struct StrokedText {
  std::vector<std::vector<Point>> lines;
  double width = 0;
};
StrokedText stroke_text(std::string_view words, double size);

}  // namespace loci::camera
