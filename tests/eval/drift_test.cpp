// SPDX-License-Identifier: Apache-2.0
// loci eval drift: metrics against reference values, and scores of predictions with known faults.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/camera/lens.h"
#include "loci/eval/drift/drift_sheet.h"
#include "loci/eval/drift/drift_suite.h"
#include "loci/eval/drift/drift_windows.h"
#include "loci/eval/drift/visit_pairs.h"
#include "loci/eval/metrics/flicker.h"
#include "loci/eval/metrics/frechet.h"
#include "loci/eval/suites/prediction_video.h"
#include "loci/eval/suites/runner.h"
#include "loci/io/media/image.h"
#include "loci/io/media/image_statistics.h"
#include "loci/world/clip/record.h"

#include "tests/eval/formula_picture.h"
#include "tests/eval/tiny_recording.h"
#include "tests/model/formula_weights.h"

namespace loci::eval {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

Json reference(const char* part) {
  return load_json(fs::path(LOCI_TEST_DATA) / "eval" / "drift.json").at(part);
}

TEST(DriftMetrics, SharpnessAndContrastMatchOpenCvAndNumpy) {
  const Json cases = reference("statistics");
  ASSERT_EQ(cases.size(), 3u);
  for (const Json& expected : cases) {
    const at::Tensor frame = formula_picture(expected["height"], expected["width"],
                                             expected["phase"], expected["noise"]);
    const double sharp = expected["sharpness"];
    EXPECT_NEAR(io::sharpness(frame)[0], sharp, 1e-9 * sharp);
    EXPECT_NEAR(io::contrast(frame)[0], expected["contrast"].get<double>(), 1e-9);
  }
}

// The same formula as in tests/data/eval/make_drift.py.
at::Tensor formula_features(int64_t count, int64_t width, double phase, double scale) {
  const at::Tensor i = at::arange(count, at::kLong).view({-1, 1}), j = at::arange(width, at::kLong);
  const at::Tensor pattern = at::remainder(i * 7919 + j * 104729, 97).to(at::kDouble) / 97;
  const at::Tensor x = j.to(at::kDouble);
  return (1 + scale * at::cos(x)) * at::sin(0.7 * i.to(at::kDouble) + 1.3 * x + phase) + pattern;
}

TEST(DriftMetrics, FrechetDistanceMatchesScipy) {
  const Json cases = reference("frechet");
  ASSERT_EQ(cases.size(), 4u);
  for (const Json& expected : cases) {
    const int64_t count = expected["count"], width = expected["width"];
    const at::Tensor a = formula_features(count, width, 0, 0.2);
    const at::Tensor b = formula_features(count, width, expected["phase"], 0.7);
    EXPECT_NEAR(frechet_distance(a, b), expected["distance"].get<double>(), 1e-6) << count;
    EXPECT_NEAR(frechet_distance(b, a), frechet_distance(a, b), 1e-9) << count;
    EXPECT_NEAR(frechet_distance(a, a), 0, 1e-9) << count;
  }
  // Distance of the means alone, and a scaled covariance: sum of (s - 1)² times the variances.
  const at::Tensor a = formula_features(50, 4, 0, 0.2);
  EXPECT_NEAR(frechet_distance(a, a + 2), 16, 1e-9);
  const at::Tensor centred = a - a.mean(0);
  EXPECT_NEAR(frechet_distance(centred, 3 * centred), 4 * a.var(0).sum().item<double>(), 1e-9);
}

TEST(DriftMetrics, FrechetDistanceByWalkRemovesTheBias) {
  EXPECT_TRUE(frechet_by_walk({}, {}).empty());
  const at::Tensor a = formula_features(30, 4, 0, 0.2), b = formula_features(30, 4, 0.5, 0.7);
  EXPECT_EQ(frechet_by_walk({a}, {b}), std::vector<double>{frechet_distance(a, b)});
  for (const double value : frechet_by_walk({a, b}, {a, b})) EXPECT_NEAR(value, 0, 1e-9);
  // Walks of one normal distribution on both sides: the true distance is zero, and that of finite
  // samples is larger.
  at::manual_seed(3);
  constexpr int kDraws = 8, kWalks = 20;
  double biased = 0, corrected = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<at::Tensor> left, right;
    for (int i = 0; i < kWalks; ++i) {
      left.push_back(at::randn({10, 8}, at::kDouble));
      right.push_back(at::randn({10, 8}, at::kDouble));
    }
    biased += frechet_distance(at::cat(left), at::cat(right)) / kDraws;
    for (const double value : frechet_by_walk(left, right)) {
      corrected += value / (kDraws * kWalks);
    }
  }
  EXPECT_GT(biased, 0.15);
  EXPECT_LT(std::abs(corrected), 0.5 * biased);
}

at::Tensor formula_depth(int64_t height, int64_t width, double phase) {
  at::Tensor depth = at::empty({height, width}, at::kFloat);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const double far =
          3 + std::sin(0.2 * static_cast<double>(x) + phase) + 0.05 * static_cast<double>(y);
      depth[y][x] = y < 6 ? INFINITY : static_cast<float>(far);
    }
  }
  return depth;
}

TEST(DriftMetrics, FlickerMatchesScipy) {
  const Json cases = reference("flicker");
  ASSERT_EQ(cases.size(), 5u);
  const at::Tensor before = io::luma(formula_picture(32, 48, 0, 0.1))[0];
  const at::Tensor frame = io::luma(formula_picture(32, 48, 0.2, 0.1))[0];
  for (const Json& expected : cases) {
    DepthFrame target, source;
    target.camera.lens = source.camera.lens = camera::lens_from_fov(camera::radians(75));
    target.camera.pose.rotation = camera::rotation_from_angles(expected["yaw"], expected["pitch"]);
    const Json& step = expected["step"];
    target.camera.pose.position = {step[0], step[1], step[2]};
    if (expected["depth"]) {
      target.depth = formula_depth(32, 48, 0.1);
      source.depth = formula_depth(32, 48, 0);
    }
    const ViewWarp warp = view_warp(target, source, {32, 48});
    EXPECT_NEAR(warp.share(), expected["share"].get<double>(), 1e-9);
    if (expected["flicker"].is_null()) {
      EXPECT_TRUE(std::isnan(flicker(before, frame, warp))) << "hardly any common pixel";
    } else {
      EXPECT_NEAR(flicker(before, frame, warp), expected["flicker"].get<double>(), 1e-3);
    }
  }
  EXPECT_EQ(relative_flicker(4, 2), 2);
  EXPECT_EQ(relative_flicker(0, 0.1), 1) << "both below the rounding to 8 bits";
  EXPECT_EQ(relative_flicker(5, 0), 10);
  EXPECT_TRUE(std::isnan(relative_flicker(NAN, 1)));
}

// Walks of procedural scenes, with depth, and predictions that change their frames.
class Drift : public ::testing::Test {
 protected:
  static constexpr int kWidth = 64, kHeight = 48;
  static constexpr double kSeconds = 2;  // per window

  static void SetUpTestSuite() {
    folder_ = fs::path(::testing::TempDir()) / ("loci_drift_test_" + std::to_string(::getpid()));
    world::RecordOptions options;
    options.count = 2;
    options.clip.frames = 321;
    options.clip.width = kWidth;
    options.clip.height = kHeight;
    options.clip.revisit_share = 1;
    world::record(folder_ / "walks", options);
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }
  static fs::path path(const std::string& name) { return folder_ / name; }

  static std::unique_ptr<EvalClips> walks(double context_seconds = 2.5) {
    ClipFormat format;
    format.width = kWidth;
    format.height = kHeight;
    return open_recordings(path("walks"), format, {context_seconds, {}, {}});
  }

  // A prediction that changes recorded frames: uint8 [T, H, W, 3]; `first` counts from the context.
  using Change = std::function<at::Tensor(const at::Tensor& frames)>;
  static MetricValues windows(const EvalClips& clips, const Change& change) {
    DriftWindows windows(clips, 0, kSeconds);
    const EvalClip& clip = clips.clip(0);
    const at::Tensor truth = clips.read(0, clip.context_frames, clip.new_frames());
    const at::Tensor frames = change(truth.clone());
    for (int64_t at = 0; at < truth.size(0); at += 20) {
      windows.add(clip.context_frames + at, frames.narrow(0, at, 20), truth.narrow(0, at, 20));
    }
    return windows.values();
  }
  static double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }
  static at::Tensor blurred(const at::Tensor& frames) {
    return at::avg_pool2d(frames.to(at::kFloat).permute({0, 3, 1, 2}), {5, 5}, {1, 1}, {2, 2},
                          false, /*count_include_pad=*/false)
        .permute({0, 2, 3, 1})
        .round()
        .to(at::kByte)
        .contiguous();
  }
  static at::Tensor faded(const at::Tensor& frames, double contrast) {
    const at::Tensor wide = frames.to(at::kDouble);
    const at::Tensor level = wide.mean({1, 2, 3}, /*keepdim=*/true);
    return (level + contrast * (wide - level)).round().to(at::kByte);
  }
  static at::Tensor noisy(const at::Tensor& frames, double deviation) {
    at::manual_seed(5);
    const at::Tensor wide = frames.to(at::kFloat);
    return (wide + deviation * at::randn_like(wide)).round().clamp(0, 255).to(at::kByte);
  }

  static inline fs::path folder_;
};

TEST_F(Drift, PerfectPredictionHasRatiosOfOne) {
  const auto clips = walks();
  EXPECT_TRUE(clips->has_depth(0));
  const MetricValues values = windows(*clips, [](const at::Tensor& frames) { return frames; });
  // 280 frames after the context are eight windows of 32 and a rest.
  for (const char* metric : {"sharpness", "contrast", "flicker"}) {
    ASSERT_EQ(values.at(metric).size(), 8u) << metric;
    for (const double value : values.at(metric)) EXPECT_EQ(value, 1) << metric;
    EXPECT_EQ(values.at(std::string(metric) + "_14_16"), std::vector<double>{1});
    EXPECT_FALSE(values.contains(std::string(metric) + "_16_18"));
  }
  EXPECT_EQ(values.at("sharpness_lowest"), std::vector<double>{1});
  EXPECT_EQ(values.at("flicker_highest"), std::vector<double>{1});
}

TEST_F(Drift, FaultsChangeTheirOwnMetric) {
  const auto clips = walks();
  const MetricValues blur = windows(*clips, blurred);
  EXPECT_LT(mean(blur.at("sharpness")), 0.3);
  EXPECT_GT(mean(blur.at("contrast")), 0.8);
  EXPECT_LT(mean(blur.at("flicker")), 1) << "less detail is lost in resampling";

  const MetricValues grey =
      windows(*clips, [](const at::Tensor& frames) { return faded(frames, 0.5); });
  EXPECT_NEAR(mean(grey.at("contrast")), 0.5, 0.02);
  EXPECT_NEAR(mean(grey.at("sharpness")), 0.25, 0.03) << "a variance";

  const MetricValues noise =
      windows(*clips, [](const at::Tensor& frames) { return noisy(frames, 12); });
  EXPECT_GT(mean(noise.at("flicker")), 1.5);
  EXPECT_GT(mean(noise.at("sharpness")), 1);

  // The first frame for ever: sharp, but it does not move with the camera.
  const MetricValues frozen = windows(*clips, [](const at::Tensor& frames) {
    return frames.narrow(0, 0, 1).expand_as(frames).contiguous();
  });
  EXPECT_GT(mean(frozen.at("flicker")), 1.5);
  EXPECT_GT(frozen.at("sharpness_lowest")[0], 0);

  // Only the second half is blurred: the lowest window shows it.
  const MetricValues late = windows(*clips, [](const at::Tensor& frames) {
    const int64_t half = frames.size(0) / 2;
    return at::cat(
        {frames.narrow(0, 0, half), blurred(frames.narrow(0, half, frames.size(0) - half))});
  });
  EXPECT_EQ(late.at("sharpness_0_2"), std::vector<double>{1});
  EXPECT_LT(late.at("sharpness_lowest")[0], 0.4);
  EXPECT_EQ(late.at("sharpness_lowest")[0],
            *std::min_element(late.at("sharpness").begin(), late.at("sharpness").end()));
}

TEST_F(Drift, DepthCompensatesMoreMotionThanRotation) {
  const auto clips = walks();
  const EvalClip& clip = clips->clip(0);
  const at::Tensor luma = io::luma(clips->read(0, 0, clip.frames()));
  const at::Tensor depth = clips->frame_depth(0, 0, clip.frames());
  double with = 0, without = 0;
  for (int64_t i = 1; i < clip.frames(); ++i) {
    const auto at = [&](int64_t frame, bool known) {
      return DepthFrame{clip.trajectory.cameras[static_cast<size_t>(frame)],
                        known ? depth[frame] : at::Tensor()};
    };
    with +=
        flicker(luma[i - 1], luma[i], view_warp(at(i, true), at(i - 1, true), {kHeight, kWidth}));
    without +=
        flicker(luma[i - 1], luma[i], view_warp(at(i, false), at(i - 1, false), {kHeight, kWidth}));
  }
  EXPECT_LT(with, 0.9 * without);
}

// With one frame of context, first visits are generated.
TEST_F(Drift, ComparesBothGeneratedVisits) {
  const auto clips = walks(0);
  size_t walk = 0;
  while (walk < clips->size() && clips->clip(walk).revisits.empty()) ++walk;
  ASSERT_LT(walk, clips->size());
  const EvalClip& clip = clips->clip(walk);
  const Networks none;
  const auto visits = [&](const Change& change) {
    VisitPairs pairs(*clips, walk, none);
    const at::Tensor truth = clips->read(walk, clip.context_frames, clip.new_frames());
    pairs.add(clip.context_frames, change(truth.clone()), truth);
    return pairs.values();
  };
  const MetricValues same = visits([](const at::Tensor& frames) { return frames; });
  ASSERT_TRUE(same.contains("psnr_visits"));
  EXPECT_EQ(same.at("psnr_visits"), same.at("psnr_visits_recorded"));
  EXPECT_FALSE(same.contains("lpips_visits")) << "no weights";
  // Another world after the first half.
  const MetricValues other = visits([](const at::Tensor& frames) {
    const int64_t half = frames.size(0) / 2;
    return at::cat(
        {frames.narrow(0, 0, half), frames.narrow(0, half, frames.size(0) - half).flip(2)});
  });
  EXPECT_LT(mean(other.at("psnr_visits")), mean(same.at("psnr_visits")) - 2);
  EXPECT_EQ(other.at("psnr_visits_recorded"), same.at("psnr_visits_recorded"));
}

TEST_F(Drift, SheetShowsAFrameEveryThreeSeconds) {
  const auto clips = walks();
  const EvalClip& clip = clips->clip(0);
  DriftSheet sheet(clip, 16);
  const at::Tensor truth = clips->read(0, clip.context_frames, clip.new_frames());
  for (int64_t at = 0; at < truth.size(0); at += 20) {
    sheet.add(clip.context_frames + at, 255 - truth.narrow(0, at, 20), truth.narrow(0, at, 20));
  }
  // 17.5 s: six pictures.
  const at::Tensor picture = sheet.picture();
  constexpr int64_t kRow = kHeight + DriftSheet::kGap, kColumn = kWidth + DriftSheet::kGap;
  EXPECT_EQ(picture.sizes(), (at::IntArrayRef{2 * kRow, 10 * kColumn, 3}));
  const auto tile = [&](int64_t row, int64_t column) {
    return picture.narrow(0, row * kRow, kHeight).narrow(1, column * kColumn, kWidth);
  };
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(at::equal(tile(0, i), truth[48 * i])) << i;
    EXPECT_TRUE(at::equal(tile(1, i), 255 - truth[48 * i])) << i;
  }
  EXPECT_EQ(tile(0, 6).min().item<int>(), 255) << "no picture";
  EXPECT_EQ(picture.select(1, kColumn - 1).min().item<int>(), 255) << "the gap";
  const std::vector<PictureRow> rows = sheet.rows("me");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].title, "0 to 15 s after the context, one frame every 3 s");
  ASSERT_EQ(rows[0].cells.size(), 2u);
  EXPECT_EQ(rows[0].cells[0].label, "recording");
  EXPECT_EQ(rows[0].cells[1].label, "me");
}

// The whole suite with videos instead of models: the recording itself, blurred and frozen.
TEST_F(Drift, ScoresVideosOfOtherPrograms) {
  const auto clips = walks();
  const auto write = [&](const std::string& name, const Change& change) {
    for (size_t i = 0; i < clips->size(); ++i) {
      const EvalClip& clip = clips->clip(i);
      PredictionWriter writer(path(name), *clips, i);
      writer.add(change(clips->read(i, clip.context_frames, clip.new_frames())));
      writer.finish();
    }
  };
  write("perfect", [](const at::Tensor& frames) { return frames; });
  write("blurred", blurred);
  fs::create_directories(path("weights"));
  model::write_formula_lpips(model::LpipsNet::kAlex, path("weights/lpips_alex.safetensors"));
  ContinuationSetup setup;
  setup.suite = "drift";
  setup.title = "Drift";
  setup.predictions = parse_models({path("perfect").string(), path("blurred").string()});
  setup.data = path("walks");
  setup.out = path("out");
  setup.weights = path("weights");
  setup.clips.context_seconds = 2.5;
  setup.clips.seconds = 7.5;
  {
    DriftSuite suite(setup, kSeconds);
    // An interrupted run is continued: one process measures one walk, the next one the rest.
    EXPECT_EQ(run_suite(suite, {path("out"), 1, 2}), 2);
    EXPECT_FALSE(fs::exists(path("out/report.html")));
    EXPECT_EQ(run_suite(suite, {path("out")}), 0);
  }
  const Json results = load_json(path("out/results.json"));
  ASSERT_EQ(results["variants"].size(), 2u);
  const Json& perfect = results["variants"][0]["metrics"];
  const Json& blur = results["variants"][1]["metrics"];
  for (const char* metric : {"sharpness", "contrast", "flicker", "flicker_2_4"}) {
    EXPECT_EQ(perfect[metric]["mean"], 1) << metric;
  }
  EXPECT_NEAR(perfect["frechet"]["mean"].get<double>(), 0, 1e-9);
  EXPECT_NEAR(perfect["frechet_0_2"]["mean"].get<double>(), 0, 1e-9);
  EXPECT_NEAR(perfect["psnr"]["mean"].get<double>(), kIdenticalPsnr, 1e-9);
  EXPECT_EQ(perfect["lpips"]["mean"], 0);
  EXPECT_LT(blur["sharpness"]["mean"], 0.3);
  EXPECT_GT(blur["frechet"]["mean"], 1e-6);
  EXPECT_EQ(blur["sharpness"]["clips"], 2);
  EXPECT_EQ(blur["sharpness"]["values"], 6) << "three windows";
  EXPECT_EQ(results["pairs"].size(), 1u);
  const std::string html = read_file(path("out/report.html"));
  EXPECT_THAT(html, HasSubstr("<h3>Sharpness / recording, by seconds since the context</h3>"));
  EXPECT_THAT(html, HasSubstr("<th>2–4 → 1</th>"));
  EXPECT_THAT(html, HasSubstr("one frame every 3 s"));
  EXPECT_THAT(html, Not(HasSubstr("have no depth")));
  const at::Tensor sheet =
      io::read_image(path("out/sheets/blurred") / (clips->clip(0).name + ".jpg"));
  EXPECT_EQ(sheet.sizes(), (at::IntArrayRef{2 * (kHeight + DriftSheet::kGap),
                                            10 * (kWidth + DriftSheet::kGap), 3}));

  // Features that were deleted are reported.
  fs::remove_all(path("out/features"));
  DriftSuite again(setup, kSeconds);
  EXPECT_THROW(run_suite(again, {path("out")}), Error);
  DriftSuite other(setup, 4);
  EXPECT_THROW(run_suite(other, {path("out")}), Error) << "other windows";

  // Without weights, their columns are omitted.
  setup.weights.clear();
  setup.out = path("plain");
  DriftSuite plain(setup, kSeconds);
  EXPECT_EQ(run_suite(plain, {path("plain")}), 0);
  EXPECT_FALSE(load_json(path("plain/results.json"))["variants"][0]["metrics"].contains("frechet"));
  EXPECT_THAT(read_file(path("plain/report.html")),
              HasSubstr("Fréchet distance, LPIPS, LPIPS at revisits to the context"));

  // Bad input.
  setup.out = path("bad");
  EXPECT_THROW(DriftSuite(setup, 60), Error) << "no recording fills a window";
  fs::create_directories(path("none"));
  setup.predictions = parse_models({path("none").string()});
  EXPECT_THROW(DriftSuite(setup, kSeconds), Error) << "no videos";
  write("short", [](const at::Tensor& frames) { return frames.narrow(0, 0, 100); });
  setup.predictions = parse_models({path("short").string()});
  DriftSuite cut(setup, kSeconds);
  EXPECT_THROW(run_suite(cut, {path("bad")}), Error) << "the video ends early";
}

// Models: recordings without depth, the autoencoder as an upper limit, and videos that give the
// same values when they are scored again.
TEST_F(Drift, ModelsAndTheirVideosHaveTheSameScores) {
  make_tiny_folder(path("model"), 1);
  make_tiny_recording(path("data/a"), 89, 1);
  ContinuationSetup setup;
  setup.suite = "drift";
  setup.title = "Drift";
  setup.models = parse_models({path("model").string()});
  setup.arms = {{"own"}};
  setup.sampling.cache = path("cache");
  setup.data = path("data");
  setup.out = path("tiny");
  setup.clips.context_seconds = 1;
  setup.autoencoder = setup.videos = true;
  DriftSuite suite(setup, kSeconds);
  EXPECT_EQ(variants_of(suite), (std::vector<std::string>{"model", "model, autoencoder"}));
  EXPECT_EQ(run_suite(suite, {path("tiny")}), 0);
  EXPECT_THAT(read_file(path("tiny/report.html")), HasSubstr("1 of 1 recordings have no depth"));
  const std::vector<PartResult> parts = read_parts(suite, path("tiny"));
  const MetricValues& values = parts.at(0).values.at("model");
  const MetricValues& limit = parts.at(0).values.at("model, autoencoder");
  EXPECT_NE(values.at("sharpness"), limit.at("sharpness"));
  EXPECT_TRUE(values.contains("chunk_seconds"));
  EXPECT_FALSE(limit.contains("chunk_seconds"));

  setup.autoencoder = setup.videos = false;
  setup.predictions = parse_models({"video=" + path("tiny/predictions/model").string()});
  setup.out = path("again");
  DriftSuite replay(setup, kSeconds);
  EXPECT_EQ(run_suite(replay, {path("again")}), 0);
  const std::vector<PartResult> both = read_parts(replay, path("again"));
  ASSERT_EQ(both.size(), 2u);
  const MetricValues& video = both[1].values.at("video");
  for (const char* metric : {"sharpness", "contrast", "flicker", "psnr", "ssim"}) {
    EXPECT_EQ(video.at(metric), values.at(metric)) << metric;
  }
  EXPECT_EQ(replay.pairs().size(), 1u);
}

}  // namespace
}  // namespace loci::eval
