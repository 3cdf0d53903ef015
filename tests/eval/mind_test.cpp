// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/camera/lens.h"
#include "loci/eval/mind/mind_scorer.h"
#include "loci/eval/suites/continuation_suite.h"
#include "loci/eval/suites/runner.h"

#include "tests/base/expect_error.h"
#include "tests/eval/formula_picture.h"
#include "tests/eval/tiny_recording.h"
#include "tests/io/read_frames.h"

namespace loci::eval {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Mind : public ::testing::Test {
 protected:
  Mind() { make_tiny_folder(path("model"), 1); }
  ~Mind() override { fs::remove_all(folder_); }
  fs::path path(const std::string& name) const { return folder_ / name; }

  // `total` frames of 64x36 at 24 frames per second; frames from `mark` on are to be predicted.
  void add_clip(const std::string& name, int64_t mark, int64_t total,
                const std::string& view = "1st_data") const {
    const fs::path clip = path("MIND") / view / "test/mem_test" / name;
    fs::create_directories(clip);
    at::manual_seed(7);
    io::VideoOptions options;
    options.fps = 24;
    options.lossless = true;
    io::write_video(clip / "video.mp4", frames(total), options);
    Json data = Json::array();
    for (int64_t i = 0; i < total; ++i) {
      data.push_back({{"time", i},
                      {"ws", 1},
                      {"ad", 0},
                      {"ud", 0},
                      {"lr", 0},
                      {"actor_pos", {{"x", 5 * i}, {"y", 0}, {"z", 100}}},
                      {"actor_rpy", {{"x", 0}, {"y", 0}, {"z", 0}}}});
    }
    const Json action = {
        {"mark_time", mark}, {"total_time", total}, {"caption", "a road"}, {"data", data}};
    write_file(clip / "action.json", action.dump());
  }
  static at::Tensor frames(int64_t count) {
    at::manual_seed(7);
    return at::randint(0, 256, {count, 36, 64, 3}, at::kByte);
  }

  std::vector<ModelChoice> models() const { return parse_models({path("model").string()}); }

  // Scores these trees of predictions.
  ContinuationSetup predictions(const std::vector<std::string>& trees) const {
    ContinuationSetup setup;
    setup.suite = "memory";
    setup.title = "MIND";
    setup.data = path("MIND");
    setup.out = path("scores");
    setup.metrics = {"mse", "psnr", "ssim"};
    for (const std::string& tree : trees) {
      setup.predictions.push_back({path(tree).filename().string(), path(tree)});
    }
    return setup;
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("loci_mind_test_" + std::to_string(::getpid()));
};

TEST_F(Mind, ResizesFramesLikeTheOfficialScorer) {
  const at::Tensor same = at::randint(0, 256, {720, 1280, 3}, at::kByte);
  EXPECT_TRUE(at::allclose(mind_frame(same)[0], same.to(at::kFloat) / 255));
  // 16:9: scaled bilinearly without antialiasing.
  at::Tensor small = at::zeros({36, 64, 3}, at::kByte);
  small[35][63][1] = 255;
  const at::Tensor large = mind_frame(small);
  EXPECT_EQ(large.sizes(), at::IntArrayRef({1, 720, 1280, 3}));
  EXPECT_NEAR(large[0][719][1279][1].item<double>(), 1, 1e-6);
  EXPECT_NEAR(large[0][719][1279 - 20][1].item<double>(), 0.475, 1e-4);
  // Other aspect ratios cover the frame and are cropped at the centre.
  at::Tensor tall = at::zeros({100, 100, 3}, at::kByte);
  tall[50].fill_(255);
  const at::Tensor cut = mind_frame(tall).slice(0, 0, 1)[0].mean({1, 2});
  EXPECT_EQ(cut.argmax().item<int64_t>() / 10, (360 + 6) / 10);
}

// tests/data/eval/make_mind_scores.py runs the scorer's own code on the same pictures. The values
// agree to the precision of FP32 sums over a frame.
TEST_F(Mind, AgreesWithTheOfficialScorer) {
  const Json cases = load_json(fs::path(LOCI_TEST_DATA) / "eval" / "mind_scores.json");
  ASSERT_EQ(cases.size(), 3u);
  const double truth_phase[] = {0.0, 0.4}, made_phase[] = {0.3, 0.4};
  for (const Json& expected : cases) {
    const auto height = expected["height"].get<int64_t>(), width = expected["width"].get<int64_t>();
    for (size_t i = 0; i < 2; ++i) {
      SCOPED_TRACE(fmt::format("{}x{}, frame {}", width, height, i));
      const at::Tensor truth = mind_frame(formula_picture(72, 128, truth_phase[i], 0)[0]);
      const at::Tensor made = mind_frame(formula_picture(height, width, made_phase[i], 0.2)[0]);
      const double error = mse(made, truth).front();
      EXPECT_NEAR(error, expected["mse"][i].get<double>(), 1e-6);
      EXPECT_NEAR(psnr_of(error), expected["psnr"][i].get<double>(), 1e-4);
      EXPECT_NEAR(ssim(made, truth, SsimBorder::kMirrored).front(),
                  expected["ssim"][i].get<double>(), 1e-5);
    }
  }
}

TEST_F(Mind, SkipsTheLastBatchInCompatibleMode) {
  MindScoring plain, compatible;
  compatible.compatible = true;
  EXPECT_EQ(scored_frames(480, plain), 480);
  EXPECT_EQ(scored_frames(480, compatible), 400);
  EXPECT_EQ(scored_frames(500, compatible), 400);
  EXPECT_EQ(scored_frames(501, compatible), 500);
  EXPECT_EQ(scored_frames(100, compatible), 0);
  EXPECT_EQ(scored_frames(0, compatible), 0);
  compatible.max_frames = 480;
  EXPECT_EQ(scored_frames(3000, compatible), 400);
}

// A tree of predictions per case: the recorded frames themselves, the recording one frame later,
// and one without a clip.
TEST_F(Mind, ScoresPredictions) {
  add_clip("data-26", 20, 23);
  add_clip("data-27", 20, 23);
  const std::vector<MindRecording> found = find_mind(path("MIND"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].clip(), "1st_data/mem_test/data-26");
  EXPECT_TRUE(find_mind(path("model")).empty());
  const auto write = [&](const std::string& tree, size_t clip, const at::Tensor& video) {
    const fs::path file = MindPrediction::file(path(tree), found[clip]);
    fs::create_directories(file.parent_path());
    io::VideoOptions options;
    options.lossless = true;
    options.fps = 24;
    io::write_video(file, video, options);
  };
  const at::Tensor truth = frames(23).narrow(0, 20, 3);
  for (const size_t clip : {0, 1}) {
    write("perfect", clip, truth);
    write("shifted", clip, frames(23).narrow(0, 19, 3));
  }
  write("dark", 0, at::zeros({2, 36, 64, 3}, at::kByte));
  ContinuationSetup setup = predictions({"perfect", "shifted", "dark"});
  ContinuationSuite suite(setup);
  EXPECT_EQ(run_suite(suite, {path("scores")}), 0);
  const Json results = load_json(path("scores/results.json"));
  ASSERT_EQ(results["failed"].size(), 1u);
  EXPECT_EQ(results["failed"][0]["group"], "dark");
  EXPECT_EQ(results["failed"][0]["clip"], "1st_data/mem_test/data-27");
  const auto mean = [&](size_t variant, const char* metric) {
    return results["variants"][variant]["metrics"][metric]["mean"].get<double>();
  };
  EXPECT_EQ(mean(0, "psnr"), kIdenticalPsnr);
  EXPECT_NEAR(mean(0, "ssim"), 1, 1e-9);
  EXPECT_LT(mean(1, "psnr"), 20);
  EXPECT_EQ(results["variants"][2]["metrics"]["psnr"]["clips"], 1);
  EXPECT_EQ(results["pairs"][1]["metrics"]["psnr"]["clips"], 1) << "the common clip";
  // Black frames against the recording, over the two frames that both videos have.
  double wanted = 0;
  for (int64_t i = 0; i < 2; ++i) {
    wanted += mind_frame(truth[i]).to(at::kDouble).square().mean().item<double>() / 2;
  }
  EXPECT_NEAR(mean(2, "mse"), wanted, 1e-6);
  MindScoring compatible;
  compatible.compatible = true;
  EXPECT_TRUE(
      mind_values(found[0], MindPrediction::file(path("dark"), found[0]), compatible, nullptr)
          .empty());
  setup = predictions({"MIND"});
  EXPECT_BAD_INPUT(ContinuationSuite{setup}, HasSubstr("has no video of any clip"));
}

TEST_F(Mind, ListsDamagedRecordings) {
  add_clip("data-26", 20, 23);
  add_clip("data-27", 20, 23);
  fs::remove(path("MIND/1st_data/test/mem_test/data-26/video.mp4"));
  const auto clips = open_mind(find_mind(path("MIND")), ClipFormat(), {});
  ASSERT_EQ(clips->size(), 2u);
  EXPECT_THAT(clips->damage(0), HasSubstr("data-26/video.mp4: the file is missing"));
  EXPECT_EQ(clips->damage(1), "");
  write_file(path("MIND/1st_data/test/mem_test/data-27/action.json"), "{}");
  EXPECT_BAD_INPUT(open_mind(find_mind(path("MIND")), ClipFormat(), {}), HasSubstr("data-26"));
}

TEST_F(Mind, SelectsTheView) {
  add_clip("data-26", 20, 23);
  add_clip("data-151", 20, 23, "3rd_data");
  EXPECT_EQ(find_mind(path("MIND")).size(), 1u);
  const auto third = find_mind(path("MIND"), {.views = {"3rd_data"}});
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(third[0].clip(), "3rd_data/mem_test/data-151");
  EXPECT_EQ(find_mind(path("MIND"), {.views = {"1st_data", "3rd_data"}}).size(), 2u);
  fs::remove_all(path("MIND/3rd_data"));
  EXPECT_BAD_INPUT(find_mind(path("MIND"), {.views = {"3rd_data"}}), HasSubstr("--view"));
}

// A model of 768x512 gets 864x480, which is resized as a whole: the recorded frames, as the model
// sees them, get a perfect score. With 768x512 they would show only the centre.
TEST_F(Mind, APerfectPredictorHasAPerfectScore) {
  ClipFormat format;
  format.width = 768;
  format.height = 512;
  EXPECT_FALSE(mind_format(format, 0).stretch);
  EXPECT_THAT(mind_size_note(mind_format(format, 0)), HasSubstr("the central 84 % x 84 %"));
  const ClipFormat wide = mind_format(format, 32);
  EXPECT_EQ(wide.width, 864);
  EXPECT_EQ(wide.height, 480);
  EXPECT_EQ(mind_size_note(wide), "");

  // A picture whose brightness grows with x and y, so that a crop changes every pixel.
  add_clip("data-26", 20, 40);
  const at::Tensor x = at::arange(320).view({1, 1, 320, 1}),
                   y = at::arange(180).view({1, 180, 1, 1});
  io::VideoOptions lossless;
  lossless.fps = 24;
  lossless.lossless = true;
  io::write_video(path("MIND/1st_data/test/mem_test/data-26/video.mp4"),
                  (x / 2 + y / 2).to(at::kByte).expand({40, 180, 320, 3}).contiguous(), lossless);
  const std::vector<MindRecording> found = find_mind(path("MIND"));
  const auto score = [&](const ClipFormat& used, const char* tree) {
    const auto clips = open_mind(found, used, {});
    const EvalClip& clip = clips->clip(0);
    MindPrediction prediction(path(tree), found[0], used, {});
    const at::Tensor frames = clips->read(0, clip.context_frames, clip.new_frames());
    prediction.add(frames.narrow(0, 0, 8));
    prediction.add(frames.narrow(0, 8, clip.new_frames() - 8));
    prediction.finish();
    return mind_values(found[0], prediction.path(), {}, nullptr).at("psnr")[0];
  };
  format.width = 48;
  format.height = 32;
  ClipFormat exact = format;
  exact.width = 64;
  exact.height = 36;
  EXPECT_GT(score(mind_format(exact, 0), "exact"), 38);
  EXPECT_LT(score(mind_format(format, 0), "cropped"), 30);
  // 1280x720, as the scorer reads it; the rate is that of the recording.
  const io::VideoReader video(MindPrediction::file(path("exact"), found[0]));
  EXPECT_EQ(video.width(), 1280);
  EXPECT_EQ(video.fps(), 24);
  EXPECT_EQ(video.frame_count(), 20);
}

// The lens of the whole frame, from --fov.
TEST_F(Mind, FieldOfViewIsAnOption) {
  add_clip("data-26", 20, 40);
  ClipFormat format;
  format.width = 64;
  format.height = 36;
  format = mind_format(format, 0);
  const auto lens = [&](const ClipOptions& options) {
    return open_mind(find_mind(path("MIND")), format, options)->clip(0).trajectory.cameras[0].lens;
  };
  EXPECT_NEAR(camera::degrees(lens({}).fov_x), 90, 1e-9) << "Unreal Engine's default";
  EXPECT_NEAR(camera::degrees(lens({.fov = 60}).fov_x), 60, 1e-9);
  EXPECT_NEAR(lens({.fov = 60}).normalised.value()[1], 16. / 9 / (2 * std::tan(M_PI / 6)), 1e-9);
}

// By default every second frame is used, and seconds are those of the recording.
TEST_F(Mind, StrideAndClock) {
  add_clip("data-26", 60, 110);
  const auto open = [&](const ClipOptions& options) {
    return open_mind(find_mind(path("MIND")), common_format(models(), {}), options);
  };
  const auto half = open({});
  EXPECT_EQ(half->clip(0).clock, 12);
  EXPECT_EQ(half->clip(0).context_frames, 25) << "30 frames: 1 + 3 chunks of 8";
  EXPECT_NEAR(half->clip(0).trajectory.cameras[26].pose.position.z -
                  half->clip(0).trajectory.cameras[25].pose.position.z,
              0.1, 1e-9);
  EXPECT_NEAR(half->clip(0).trajectory.cameras[25].pose.position.z, 3, 1e-9) << "mark_time";
  // One second is 12 frames of the clip, or 16 by the clock of the generated video.
  EXPECT_EQ(open({.seconds = 1})->clip(0).new_frames(), 16);
  EXPECT_EQ(open({.context_seconds = 1})->clip(0).context_frames, 9);
  const auto generated = open({.context_seconds = 1, .clock = Clock::kGenerated});
  EXPECT_EQ(generated->clip(0).clock, 16);
  EXPECT_EQ(generated->clip(0).context_frames, 17);
  EXPECT_EQ(open({.stride = 1})->clip(0).clock, 24);
  // Recorded frames and latents differ, so the cache must, too.
  EXPECT_NE(open({.stride = 1})->identity(0), half->identity(0));
}

TEST_F(Mind, ModelsWriteTheTreeOfPredictions) {
  // 30 frames at 24 frames per second are 20 at 16: frame 0 and two chunks of eight; the first
  // three are dropped. Three frames to predict are two at 16 frames per second: one chunk.
  add_clip("data-26", 30, 33);
  ContinuationSetup setup;
  setup.suite = "memory";
  setup.title = "MIND";
  setup.models = parse_models({path("model").string()});
  setup.arms = {{"own"}};
  setup.data = path("MIND");
  setup.out = path("out");
  setup.sampling.cache = path("cache");
  setup.sampling.width = 48;  // 3:2: cropped
  setup.sampling.height = 32;
  setup.clips.stride = 1.5;
  setup.metrics = {"mse", "psnr", "ssim"};
  ContinuationSuite suite(setup);
  EXPECT_EQ(run_suite(suite, {path("out")}), 0);
  const fs::path video = path("out/predictions/model/1st_data/mem_test/data-26/video.mp4");
  ASSERT_TRUE(fs::exists(video));
  EXPECT_EQ(io::read_frames(video).sizes(), at::IntArrayRef({3, kTinyHeight, kTinyWidth, 3}));
  EXPECT_THAT(read_file(path("out/report.html")), HasSubstr("are not 16:9"));
  EXPECT_THAT(
      read_file(path("out/report.html")),
      HasSubstr("Captions were not used with model: the model folder has no text encoder."));
  EXPECT_EQ(load_json(path("out/manifest.json"))["models"][0]["captions"], false);
  // The suite reports the score of the written files.
  ContinuationSetup read = predictions({"out/predictions/model"});
  read.clips = setup.clips;
  ContinuationSuite scorer(read);
  run_suite(scorer, {path("scores")});
  EXPECT_EQ(read_parts(scorer, path("scores"))[0].values.at("model").at("psnr"),
            read_parts(suite, path("out"))[0].values.at("model").at("psnr"));

  const ClipFormat format = common_format(setup.models, {});
  const auto clips = open_mind(find_mind(path("MIND")), format, setup.clips);
  const EvalClip& clip = clips->clip(0);
  EXPECT_EQ(clip.context_frames, 17);
  EXPECT_EQ(clip.frames(), 25);
  EXPECT_EQ(clip.caption, "a road");
  // Frame 17 of the clip is frame 30 of the recording; the step is 1.5 recorded frames.
  EXPECT_NEAR(
      clip.trajectory.cameras[17].pose.position.z - clip.trajectory.cameras[15].pose.position.z,
      0.15, 1e-9);
  EXPECT_NEAR(clip.trajectory.cameras[17].pose.position.z, 1.5, 1e-9);
  EXPECT_EQ(clip.trajectory.cameras[24].pose, clip.trajectory.cameras[19].pose)
      << "repeated after the end";
  EXPECT_EQ(clips->read(0, 15, 4).sizes(), at::IntArrayRef({4, kTinyHeight, kTinyWidth, 3}));
}

}  // namespace
}  // namespace loci::eval
