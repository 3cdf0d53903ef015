// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/eval/metrics/bootstrap.h"
#include "loci/eval/metrics/image_metrics.h"

#include "tests/eval/formula_picture.h"

namespace loci::eval {
namespace {

TEST(ImageMetrics, MatchScikitImage) {
  const Json cases = load_json(std::filesystem::path(LOCI_TEST_DATA) / "eval" / "metrics.json");
  ASSERT_EQ(cases.size(), 3u);
  for (const Json& expected : cases) {
    const int64_t height = expected["height"], width = expected["width"];
    const at::Tensor a = formula_picture(height, width, 0, 0);
    const at::Tensor b = formula_picture(height, width, expected["phase"], expected["noise"]);
    EXPECT_NEAR(mse(a, b)[0], expected["mse"].get<double>(), 1e-9);
    EXPECT_NEAR(psnr(a, b)[0], expected["psnr"].get<double>(), 1e-6);
    EXPECT_NEAR(ssim(a, b, SsimBorder::kCropped)[0], expected["ssim"].get<double>(), 1e-6);
  }
}

TEST(ImageMetrics, HandleDegenerateFrames) {
  const at::Tensor black = at::zeros({2, 16, 16, 3}, at::kByte);
  EXPECT_TRUE(std::isinf(psnr(black, black)[1]));
  EXPECT_DOUBLE_EQ(ssim(black, black)[0], 1);
  EXPECT_DOUBLE_EQ(sharpness(black)[0], 0);
  EXPECT_EQ(mse(black, black).size(), 2u);
  const at::Tensor white = at::full({2, 16, 16, 3}, 255, at::kByte);
  EXPECT_DOUBLE_EQ(psnr(black, white)[0], 0);
  // Floating-point frames are expected in [0, 1].
  EXPECT_DOUBLE_EQ(mse(white, at::ones({2, 16, 16, 3}))[0], 0);
  EXPECT_THROW(mse(black, at::zeros({2, 16, 17, 3}, at::kByte)), Error);
  EXPECT_THROW(mse(black[0], black[0]), Error);
  EXPECT_THROW(ssim(black.narrow(1, 0, 10), black.narrow(1, 0, 10)), Error);
  EXPECT_TRUE(mse(black.narrow(0, 0, 0), black.narrow(0, 0, 0)).empty());
}

TEST(ImageMetrics, SsimBorderIsMirroredOrCropped) {
  const at::Tensor a = formula_picture(32, 32, 0, 0);
  at::Tensor b = a.clone();
  b.select(2, 0).fill_(0);  // only the first column differs
  EXPECT_GT(ssim(a, b, SsimBorder::kCropped)[0], ssim(a, b, SsimBorder::kMirrored)[0]);
}

TEST(ImageMetrics, BlurReducesSharpness) {
  const at::Tensor sharp = formula_picture(32, 32, 0, 0.5).to(at::kFloat) / 255;
  const at::Tensor blurred =
      at::avg_pool2d(sharp.permute({0, 3, 1, 2}), {3, 3}, {1, 1}, {1, 1}).permute({0, 2, 3, 1});
  EXPECT_LT(sharpness(blurred)[0], 0.3 * sharpness(sharp)[0]);
}

TEST(Bootstrap, EstimatesTheIntervalOfAMean) {
  // 100 clips with one standard normal value each: the interval is about ±1.96 / 10.
  std::vector<ClipValues> clips;
  at::manual_seed(4);
  const at::Tensor values = at::randn({100}, at::kDouble);
  for (int64_t i = 0; i < 100; ++i) {
    clips.push_back({std::to_string(i), {values[i].item<double>()}});
  }
  const double deviation = values.std(0, /*unbiased=*/false).item<double>() / 10;
  const Interval interval = bootstrap_mean(clips);
  EXPECT_NEAR(interval.mean, values.mean().item<double>(), 1e-12);
  EXPECT_NEAR(interval.low, interval.mean - 1.96 * deviation, 0.15 * deviation);
  EXPECT_NEAR(interval.high, interval.mean + 1.96 * deviation, 0.15 * deviation);
  const Interval again = bootstrap_mean(clips);
  EXPECT_EQ(again.low, interval.low);
  // Repeating values within a clip does not change the interval.
  for (ClipValues& clip : clips) clip.values.assign(10, clip.values.front());
  const Interval copies = bootstrap_mean(clips);
  EXPECT_NEAR(copies.low, interval.low, 1e-9);
  EXPECT_EQ(copies.values, 1000);
}

// tests/data/eval/make_bootstrap.py computes the same resamples with numpy.
TEST(Bootstrap, MatchesNumpy) {
  const Json cases = load_json(std::filesystem::path(LOCI_TEST_DATA) / "eval" / "bootstrap.json");
  ASSERT_EQ(cases.size(), 2u);
  for (const Json& expected : cases) {
    std::vector<ClipValues> clips;
    for (const Json& values : expected["clips"]) {
      clips.push_back({std::to_string(clips.size()), values.get<std::vector<double>>()});
    }
    const Interval interval = bootstrap_mean(clips, {.seed = expected["seed"].get<uint64_t>()});
    EXPECT_NEAR(interval.mean, expected["mean"].get<double>(), 1e-9);
    EXPECT_NEAR(interval.low, expected["low"].get<double>(), 1e-9);
    EXPECT_NEAR(interval.high, expected["high"].get<double>(), 1e-9);
  }
}

TEST(Bootstrap, HandlesFewClips) {
  EXPECT_TRUE(std::isnan(bootstrap_mean({}).mean));
  const std::vector<ClipValues> one = {{"a", {1, 3}}, {"b", {}}};
  const Interval interval = bootstrap_mean(one);
  EXPECT_EQ(interval.clips, 1);
  EXPECT_EQ(interval.low, 2);
  EXPECT_EQ(interval.high, 2);
  const std::vector<ClipValues> broken = {{"a", {NAN}}};
  EXPECT_THROW(bootstrap_mean(broken), Error);
}

TEST(Bootstrap, PairsClipsByName) {
  const std::vector<ClipValues> a = {{"x", {2, 2}}, {"y", {5}}, {"z", {1}}};
  const std::vector<ClipValues> b = {{"z", {1}}, {"x", {1, 2}}, {"y", {6}}};
  const PairedDifference result = paired_difference(a, b);
  EXPECT_DOUBLE_EQ(result.difference.mean, 0);
  EXPECT_EQ(result.wins, 1);
  EXPECT_EQ(result.losses, 1);
  EXPECT_THROW(paired_difference(a, std::span(b).subspan(1)), Error);
  EXPECT_THROW(paired_difference(std::span(a).subspan(1), b), Error);
}

}  // namespace
}  // namespace loci::eval
