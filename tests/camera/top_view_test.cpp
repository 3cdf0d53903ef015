// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/top_view.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "loci/base/file.h"
#include "loci/camera/path/presets.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/io/media/image.h"

#include "paths.h"

namespace loci::camera {
namespace {

using ::testing::HasSubstr;

constexpr Colour kWhite{255, 255, 255};
constexpr Colour kBlack{0, 0, 0};

TEST(Canvas, CoverageEqualsTheAreaOfTheShape) {
  PixelCanvas canvas(40, 40, kWhite);
  const std::array<Point, 4> square{Point{10, 10}, Point{20, 10}, Point{20, 20}, Point{10, 20}};
  canvas.fill(square, kBlack);
  at::Tensor darkness = 255 - canvas.image().to(at::kDouble);
  EXPECT_NEAR(darkness.sum().item<double>() / (3 * 255), 100, 0.5);
  EXPECT_EQ(canvas.image()[15][15][0].item<int>(), 0);
  EXPECT_EQ(canvas.image()[9][15][0].item<int>(), 255);

  PixelCanvas round(40, 40, kWhite);
  round.disc({20.3, 19.6}, 8, kBlack);
  darkness = 255 - round.image().to(at::kDouble);
  EXPECT_NEAR(darkness.sum().item<double>() / (3 * 255), std::numbers::pi * 64, 1);

  PixelCanvas thin(40, 40, kWhite);
  thin.stroke(std::array{Point{5, 5}, Point{35, 25}}, 2, kBlack.with_alpha(0.5));
  darkness = 255 - thin.image().to(at::kDouble);
  const double area = 2 * std::hypot(30, 20) + std::numbers::pi;
  EXPECT_NEAR(darkness.sum().item<double>() / (3 * 255), area / 2, 1);
  // Drawing outside the page has no effect.
  thin.stroke(std::array{Point{-500, 1e7}, Point{900, -1e7}}, 3, kBlack);
  thin.fill(std::array{Point{-9, -9}, Point{-1, -9}, Point{-1, -1}}, kBlack);
  thin.disc({1e9, 0}, 3, kBlack);
}

TEST(Canvas, EscapesTextInSvgAndDrawsItInPixels) {
  SvgCanvas svg(100, 50, kWhite);
  svg.text({5, 20}, "a<b>&\"c\"\n", 12, kBlack, Anchor::kEnd);
  EXPECT_THAT(svg.finish(), HasSubstr("a&lt;b&gt;&amp;&quot;c&quot; </text>"));
  PixelCanvas pixels(400, 40, kWhite);
  std::string all;
  for (char c = ' '; c < 127; ++c) all += c;
  pixels.text({5, 20}, all + "\u00B0\u4E16", 12, kBlack, Anchor::kStart);
  EXPECT_LT(pixels.image().min().item<int>(), 60);
  EXPECT_EQ(stroke_text("", 12).width, 0);
  EXPECT_NEAR(stroke_text("10 m", 24).width, 2 * stroke_text("10 m", 12).width, 1e-9);
}

TEST(TopView, ShowsThePathAndTheScale) {
  const Scratch scratch;
  const Trajectory path = make_preset("square");
  const PathStatistics statistics = path_statistics(path);
  write_top_view(scratch / "a.svg", path, statistics, "square & more");
  const std::string svg = read_file(scratch / "a.svg");
  EXPECT_THAT(svg, ::testing::StartsWith("<svg "));
  EXPECT_THAT(svg, ::testing::EndsWith("</svg>\n"));
  for (const char* part : {"square &amp; more", ">start<", ">end<", " m</text>", "27.5 s"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  write_top_view(scratch / "a.png", path, statistics, "square");
  const at::Tensor image = io::read_image(scratch / "a.png");
  EXPECT_EQ(image.size(1), 960);
  EXPECT_LT(image.min().item<int>(), 60);
  EXPECT_THAT(refusal([&] { write_top_view(scratch / "a.pdf", path, statistics, ""); }),
              HasSubstr(".svg or .png"));
}

// Records the calls.
class Recorder : public Canvas {
 public:
  Recorder() : Canvas(960, 760) {}
  void fill(std::span<const Point>, const Colour&) override {}
  void stroke(std::span<const Point> line, double thickness, const Colour&) override {
    if (thickness > 3) way.insert(way.end(), line.begin(), line.end());
  }
  void disc(const Point&, double, const Colour&) override {}
  void text(const Point&, std::string_view, double, const Colour&, Anchor) override {}

  std::vector<Point> way;
};

TEST(TopView, FirstCameraLooksUpThePageForAnyWorldAxes) {
  // Forward, then right: up the page, then to its right, for any world axes.
  const Trajectory walk = read_key_string("w-32,d-32");
  const Mat3 z_up{{1, 0, 0, 0, 0, 1, 0, -1, 0}};
  for (const Mat3& world : {Mat3{}, rotation_from_angles(2.2, 0), z_up}) {
    Trajectory path = walk;
    for (auto& [pose, lens] : path.cameras) pose = Pose{world, {5, 6, 7}} * pose;
    Recorder canvas;
    draw_top_view(canvas, path, path_statistics(path), "");
    ASSERT_FALSE(canvas.way.empty());
    const Point& first = canvas.way.front();
    const Point& last = canvas.way.back();
    EXPECT_LT(last.y, first.y - 100);
    EXPECT_NEAR(last.x - first.x, first.y - last.y, 1e-6) << "must go right with the same scale";
  }
}

TEST(TopView, DrawsAnyPath) {
  for (const size_t count : {1u, 2u, 500u}) {
    Trajectory path = wandering_path(count, 6);
    Recorder canvas;
    draw_top_view(canvas, path, path_statistics(path), "");
    for (auto& [pose, lens] : path.cameras) pose.position = pose.position * 1e6;
    draw_top_view(canvas, path, path_statistics(path), "");
    for (auto& [pose, lens] : path.cameras) {
      pose = {rotation_from_angles(0, -std::numbers::pi / 2), {}};  // straight down, on the spot
    }
    draw_top_view(canvas, path, path_statistics(path), "");
    for (const Point& point : canvas.way) {
      EXPECT_TRUE(std::isfinite(point.x) && std::isfinite(point.y));
    }
  }
}

}  // namespace
}  // namespace loci::camera
