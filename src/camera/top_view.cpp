// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/top_view.h"

#include <algorithm>
#include <array>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/camera/lens.h"
#include "loci/io/media/image.h"

namespace loci::camera {

namespace {

constexpr int kWidth = 960, kHeight = 760;
constexpr double kHeader = 78, kFooter = 74, kMargin = 36;
constexpr double kFrustum = 34;  // length in pixels

constexpr Colour kPaper{255, 255, 255};
constexpr Colour kInk{32, 36, 44};
constexpr Colour kGrey{112, 118, 128};
constexpr Colour kGrid{233, 236, 240};
constexpr Colour kAxis{206, 211, 219};
constexpr Colour kStart{22, 138, 92};
constexpr Colour kEnd{200, 48, 60};

// Dark blue, purple, orange: the brightness increases with time, so that grey prints keep the
// order.
Colour colour_of_time(double t) {
  constexpr std::array<Colour, 6> kStops = {Colour{27, 32, 120},  Colour{88, 30, 160},
                                            Colour{150, 30, 150}, Colour{204, 62, 114},
                                            Colour{236, 108, 64}, Colour{246, 158, 40}};
  const double at = std::clamp(t, 0.0, 1.0) * (kStops.size() - 1);
  const auto i = std::min(static_cast<size_t>(at), kStops.size() - 2);
  const double part = at - static_cast<double>(i);
  const auto mix = [part](uint8_t a, uint8_t b) {
    return static_cast<uint8_t>(std::lround(a + part * (b - a)));
  };
  const Colour& a = kStops[i];
  const Colour& b = kStops[i + 1];
  return {mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)};
}

// 1, 2 or 5 times a power of ten, at most `largest`.
double round_length(double largest) {
  const double power = std::pow(10, std::floor(std::log10(largest)));
  for (const double step : {5.0, 2.0}) {
    if (step * power <= largest) return step * power;
  }
  return power;
}

// The horizontal plane with the axes of the page.
struct Plane {
  Vec3 origin, right, forward;

  explicit Plane(const std::vector<Pose>& poses) : origin(poses.front().position) {
    Vec3 mean;
    for (const Pose& pose : poses) mean = mean - pose.down();
    Vec3 up{0, -1, 0};
    if (norm(mean) > 1e-6 * static_cast<double>(poses.size()) &&
        dot(normalise(mean), up) < std::cos(radians(30))) {
      up = normalise(mean);
    }
    Vec3 ahead = poses.front().forward();
    ahead = ahead - up * dot(ahead, up);
    if (norm(ahead) < 1e-3) {  // looking straight down or up: use the direction of the image's top
      ahead = -poses.front().down();
      ahead = ahead - up * dot(ahead, up);
    }
    forward = normalise(ahead);
    right = cross(forward, up);
  }

  Point metres(const Vec3& position) const {
    const Vec3 offset = position - origin;
    return {dot(offset, right), dot(offset, forward)};
  }
  Point direction(const Vec3& v) const { return {dot(v, right), dot(v, forward)}; }
};

// Metres to pixels, with one scale for both axes and centred on the page.
struct Scale {
  Point centre;  // metres
  double pixels_per_metre = 1;

  Point operator()(const Point& metres) const {
    return {kWidth / 2.0 + (metres.x - centre.x) * pixels_per_metre,
            (kHeader + kHeight - kFooter) / 2 - (metres.y - centre.y) * pixels_per_metre};
  }
};

struct Box {
  Point low, high;

  explicit Box(const std::vector<Point>& points) : low(points.front()), high(points.front()) {
    for (const Point& p : points) {
      low = {std::min(low.x, p.x), std::min(low.y, p.y)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
  }
  double extent() const { return std::max(high.x - low.x, high.y - low.y); }
};

Scale fit(const Box& box) {
  constexpr double kLeastMetres = 2;  // extent of the page for a camera that stays in place
  const double wide = std::max(box.high.x - box.low.x, kLeastMetres);
  const double high = std::max(box.high.y - box.low.y, kLeastMetres);
  const double room = 2 * (kMargin + kFrustum);
  return {{(box.low.x + box.high.x) / 2, (box.low.y + box.high.y) / 2},
          std::min((kWidth - room) / wide, (kHeight - kHeader - kFooter - room) / high)};
}

void draw_grid(Canvas& canvas, const Scale& scale, double step) {
  const double top = kHeader, bottom = kHeight - kFooter;
  const double half_wide = kWidth / 2.0 / scale.pixels_per_metre;
  const double half_high = (bottom - top) / 2 / scale.pixels_per_metre;
  const auto line = [&](const Point& a, const Point& b, bool axis) {
    canvas.stroke(std::array{a, b}, 1, axis ? kAxis : kGrid);
  };
  for (double i = std::ceil((scale.centre.x - half_wide) / step);
       i * step <= scale.centre.x + half_wide; ++i) {
    const double x = scale({i * step, 0}).x;
    line({x, top}, {x, bottom}, i == 0);
  }
  for (double i = std::ceil((scale.centre.y - half_high) / step);
       i * step <= scale.centre.y + half_high; ++i) {
    const double y = scale({0, i * step}).y;
    line({0, y}, {kWidth, y}, i == 0);
  }
}

// Poses at which a frustum is drawn: one after every 15 degrees of rotation or 1.6 frustum lengths.
std::vector<size_t> frustum_poses(const std::vector<Pose>& poses,
                                  const std::vector<Point>& pixels) {
  std::vector<size_t> chosen = {0};
  for (size_t i = 1; i < poses.size(); ++i) {
    const Point step = pixels[i] - pixels[chosen.back()];
    if (std::hypot(step.x, step.y) > 1.6 * kFrustum ||
        angle_between(poses[chosen.back()].rotation, poses[i].rotation) > radians(15)) {
      chosen.push_back(i);
    }
  }
  if (chosen.back() + 1 != poses.size()) chosen.push_back(poses.size() - 1);
  // Long paths keep the first, the last and evenly spaced ones of the others.
  constexpr size_t kMost = 90;
  if (chosen.size() <= kMost) return chosen;
  std::vector<size_t> fewer;
  for (size_t i = 0; i < kMost; ++i) fewer.push_back(chosen[i * (chosen.size() - 1) / (kMost - 1)]);
  return fewer;
}

void draw_frustum(Canvas& canvas, const Plane& plane, const Pose& pose, double fov, const Point& at,
                  double length, const Colour& colour) {
  const double half = std::min(fov / 2, radians(75));
  // The left and right edge of the image's middle row from above. They are shorter for tilted
  // cameras.
  const auto edge = [&](double angle) {
    const Vec3 ray = pose.forward() * std::cos(angle) + pose.right() * std::sin(angle);
    const Point d = plane.direction(ray) * (length / std::cos(half));
    return at + Point{d.x, -d.y};
  };
  const std::array<Point, 3> triangle{at, edge(-half), edge(half)};
  canvas.fill(triangle, colour.with_alpha(0.13));
  canvas.stroke(std::array{triangle[1], triangle[0], triangle[2]}, 1.1, colour.with_alpha(0.75));
  canvas.stroke(std::array{triangle[1], triangle[2]}, 1.1, colour.with_alpha(0.35));
}

void draw_way(Canvas& canvas, const std::vector<Point>& pixels) {
  // Draws runs of equal colour and skips points closer than half a pixel.
  constexpr size_t kShades = 96;
  const size_t last = pixels.size() - 1;
  std::vector<Point> run = {pixels.front()};
  size_t shade = 0;
  for (size_t i = 1; i <= last; ++i) {
    const Point step = pixels[i] - run.back();
    const size_t here = i * (kShades - 1) / last;
    if (std::hypot(step.x, step.y) >= 0.5 || i == last) run.push_back(pixels[i]);
    if (here != shade || i == last) {
      canvas.stroke(run, 3.2, colour_of_time(static_cast<double>(shade) / (kShades - 1)));
      run = {run.back()};
      shade = here;
    }
  }
}

void draw_mark(Canvas& canvas, const Point& at, const Colour& colour, std::string_view label,
               double side) {
  constexpr double kSize = 15;
  canvas.disc(at, 7.5, kPaper);
  canvas.disc(at, 5.8, colour);
  canvas.disc(at, 2.2, kPaper);
  const Point text = at + Point{13 * side, 24};
  // A background makes the label readable on top of other lines.
  const double width = stroke_text(label, kSize).width + 6;
  const double left = side < 0 ? text.x - width + 3 : text.x - 3;
  canvas.fill(std::array{Point{left, text.y - 14}, Point{left + width, text.y - 14},
                         Point{left + width, text.y + 5}, Point{left, text.y + 5}},
              kPaper.with_alpha(0.8));
  canvas.text(text, label, kSize, colour, side < 0 ? Anchor::kEnd : Anchor::kStart);
}

void draw_ring(Canvas& canvas, const Point& at) {
  constexpr int kCorners = 16;
  constexpr double kRadius = 5;
  std::vector<Point> ring;
  for (int i = 0; i <= kCorners; ++i) {
    const double angle = 2 * std::numbers::pi * i / kCorners;
    ring.push_back(at + Point{kRadius * std::cos(angle), kRadius * std::sin(angle)});
  }
  canvas.stroke(ring, 1.8, kInk);
}

// A ring at the first frame of every revisit, and the legend.
void draw_revisits(Canvas& canvas, const std::vector<Revisit>& revisits,
                   const std::vector<Point>& pixels) {
  if (revisits.empty()) return;
  for (size_t i = 0; i < revisits.size(); ++i) {
    const bool begins = i == 0 || revisits[i].frame != revisits[i - 1].frame + 1;
    if (begins) draw_ring(canvas, pixels[revisits[i].frame]);
  }
  const Point legend{kWidth / 2.0 - 60, kHeight - 34};
  draw_ring(canvas, legend);
  canvas.text(legend + Point{12, 5}, "a revisit begins", 15, kGrey);
}

void draw_scale_bar(Canvas& canvas, const Scale& scale) {
  const double metres = round_length(180 / scale.pixels_per_metre);
  const double length = metres * scale.pixels_per_metre;
  const double y = kHeight - 34;
  canvas.stroke(std::array{Point{kMargin, y}, Point{kMargin + length, y}}, 2.4, kInk);
  for (const double x : {kMargin, kMargin + length}) {
    canvas.stroke(std::array{Point{x, y - 6}, Point{x, y + 6}}, 2, kInk);
  }
  canvas.text({kMargin + length / 2, y + 24}, fmt::format("{:g} m", metres), 15, kInk,
              Anchor::kMiddle);
}

void draw_time_bar(Canvas& canvas, double seconds) {
  constexpr double kLength = 260, kThickness = 9;
  const double left = kWidth - kMargin - kLength, y = kHeight - 34;
  constexpr int kSteps = 65;
  // Every piece extends to the end and the next one covers the rest, so that no seams are visible.
  const double right = left + kLength;
  for (int i = 0; i < kSteps; ++i) {
    const double x = left + kLength * i / kSteps;
    const std::array<Point, 4> piece{Point{x, y - kThickness / 2}, Point{right, y - kThickness / 2},
                                     Point{right, y + kThickness / 2},
                                     Point{x, y + kThickness / 2}};
    canvas.fill(piece, colour_of_time(static_cast<double>(i) / (kSteps - 1)));
  }
  canvas.text({left, y + 24}, "0 s", 15, kInk);
  canvas.text({left + kLength / 2, y + 24}, "time", 15, kGrey, Anchor::kMiddle);
  canvas.text({left + kLength, y + 24}, fmt::format("{:.3g} s", seconds), 15, kInk, Anchor::kEnd);
}

std::string subtitle(const PathStatistics& s, double grid) {
  return fmt::format(
      "{:.3g} s,  {:.3g} m,  turns {:.0f}\u00B0,  up to {:.2g} m/s and "
      "{:.0f}\u00B0/s,  revisits {} of {} poses,  grid {:g} m",
      s.seconds, s.distance, degrees(s.turn), s.max_speed, degrees(s.max_turn_rate),
      s.revisits.size(), s.poses, grid);
}

}  // namespace

void draw_top_view(Canvas& canvas, const Trajectory& trajectory, const PathStatistics& statistics,
                   const std::string& title) {
  const std::vector<Pose> poses = poses_of(trajectory.cameras);
  const Plane plane(poses);
  std::vector<Point> points;
  for (const Pose& pose : poses) points.push_back(plane.metres(pose.position));
  const Box box(points);
  const Scale scale = fit(box);
  std::vector<Point> pixels;
  for (const Point& point : points) pixels.push_back(scale(point));
  const double grid = round_length(120 / scale.pixels_per_metre);
  draw_grid(canvas, scale, grid);

  const auto share = [&](size_t pose) {
    return poses.size() < 2 ? 0 : static_cast<double>(pose) / static_cast<double>(poses.size() - 1);
  };
  const auto frustum = [&](size_t i, double length) {
    draw_frustum(canvas, plane, poses[i], trajectory.cameras[i].lens.fov_x, pixels[i], length,
                 colour_of_time(share(i)));
  };
  std::vector<Point> way = pixels;
  const bool on_the_spot = box.extent() * scale.pixels_per_metre < kFrustum;
  if (on_the_spot) {
    // The camera stays in place: draw its viewing direction on a circle whose radius grows with
    // time.
    for (size_t i = 0; i < poses.size(); ++i) {
      const Point d = plane.direction(poses[i].forward()) * (90 + 150 * share(i));
      way[i] = pixels[i] + Point{d.x, -d.y};
    }
    for (const size_t i : frustum_poses(poses, pixels)) {
      canvas.stroke(std::array{pixels[i], way[i]}, 1.2, colour_of_time(share(i)).with_alpha(0.3));
    }
    frustum(0, 70);
    frustum(poses.size() - 1, 100);
  } else {
    for (const size_t i : frustum_poses(poses, pixels)) frustum(i, kFrustum);
  }
  if (poses.size() > 1) draw_way(canvas, way);
  draw_revisits(canvas, statistics.revisits, way);
  draw_mark(canvas, pixels.back(), kEnd, "end", 1);
  draw_mark(canvas, pixels.front(), kStart, "start", -1);

  constexpr size_t kLongestTitle = 72;
  // Cut between UTF-8 characters: a partial character would make the SVG invalid.
  size_t end = kLongestTitle - 3;
  while (title.size() > kLongestTitle && end > 0 &&
         (static_cast<unsigned char>(title[end]) & 0xC0) == 0x80) {
    --end;
  }
  canvas.text({kMargin, 36}, title.size() <= kLongestTitle ? title : title.substr(0, end) + "...",
              21, kInk);
  canvas.text({kMargin, 61}, subtitle(statistics, grid), 15, kGrey);
  draw_scale_bar(canvas, scale);
  draw_time_bar(canvas, statistics.seconds);
}

void write_top_view(const std::filesystem::path& path, const Trajectory& trajectory,
                    const PathStatistics& statistics, const std::string& title) {
  const std::string suffix = path.extension().string();
  if (suffix == ".svg") {
    SvgCanvas canvas(kWidth, kHeight, kPaper);
    draw_top_view(canvas, trajectory, statistics, title);
    write_file(path, canvas.finish());
  } else if (suffix == ".png") {
    PixelCanvas canvas(kWidth, kHeight, kPaper);
    draw_top_view(canvas, trajectory, statistics, title);
    io::write_png(path, canvas.image());
  } else {
    fail("cannot draw to {}: the name must end in .svg or .png", path.string());
  }
}

}  // namespace loci::camera
