// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "loci/camera/picture/canvas.h"

namespace loci::camera {

namespace {

std::string escaped(std::string_view words) {
  std::string text;
  for (const char c : words) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      default:
        // XML does not allow control characters.
        text += static_cast<unsigned char>(c) < 32 ? ' ' : c;
    }
  }
  return text;
}

std::string paint_of(const char* attribute, const Colour& c) {
  std::string text = fmt::format("{}=\"#{:02x}{:02x}{:02x}\"", attribute, c.r, c.g, c.b);
  if (c.alpha < 1) text += fmt::format(" {}-opacity=\"{:.3g}\"", attribute, c.alpha);
  return text;
}

std::string points_of(std::span<const Point> points) {
  std::string text;
  for (const Point& p : points) {
    text += fmt::format("{}{:.2f},{:.2f}", text.empty() ? "" : " ", p.x, p.y);
  }
  return text;
}

}  // namespace

SvgCanvas::SvgCanvas(int width, int height, const Colour& background)
    : Canvas(width, height),
      body_(fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                        "viewBox=\"0 0 {0} {1}\" font-family=\"system-ui, sans-serif\" "
                        "stroke-linecap=\"round\" stroke-linejoin=\"round\">\n"
                        "<rect width=\"{0}\" height=\"{1}\" {2}/>\n",
                        width, height, paint_of("fill", background))) {}

void SvgCanvas::fill(std::span<const Point> polygon, const Colour& colour) {
  body_ +=
      fmt::format("<polygon points=\"{}\" {}/>\n", points_of(polygon), paint_of("fill", colour));
}

void SvgCanvas::stroke(std::span<const Point> line, double thickness, const Colour& colour) {
  body_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke-width=\"{:.3g}\" {}/>\n",
                       points_of(line), thickness, paint_of("stroke", colour));
}

void SvgCanvas::disc(const Point& centre, double radius, const Colour& colour) {
  body_ += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.3g}\" {}/>\n", centre.x,
                       centre.y, radius, paint_of("fill", colour));
}

void SvgCanvas::text(const Point& at, std::string_view words, double size, const Colour& colour,
                     Anchor anchor) {
  const char* name = anchor == Anchor::kStart    ? "start"
                     : anchor == Anchor::kMiddle ? "middle"
                                                 : "end";
  body_ += fmt::format(
      "<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:.3g}\" text-anchor=\"{}\" {}>{}</text>\n",
      at.x, at.y, size, name, paint_of("fill", colour), escaped(words));
}

}  // namespace loci::camera
