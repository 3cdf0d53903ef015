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
#include "loci/eval/mind/mind_suite.h"
#include "loci/eval/suites/continuation_suite.h"
#include "loci/eval/suites/runner.h"

#include "tests/eval/tiny_recording.h"
#include "tests/io/read_frames.h"

namespace loci::eval {
namespace {

namespace fs = std::filesystem;

class Mind : public ::testing::Test {
 protected:
  Mind() { make_tiny_folder(path("model"), 1); }
  ~Mind() override { fs::remove_all(folder_); }
  fs::path path(const std::string& name) const { return folder_ / name; }

  // `total` frames of 64x36 at 24 frames per second; frames from `mark` on are to be predicted.
  void add_clip(const std::string& name, int64_t mark, int64_t total) const {
    const fs::path clip = path("MIND/1st_data/test/mem_test") / name;
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

TEST_F(Mind, ScoresPredictions) {
  add_clip("data-26", 20, 23);
  const std::vector<MindRecording> found = find_mind(path("MIND"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].clip(), "1st_data/mem_test/data-26");
  EXPECT_TRUE(find_mind(path("model")).empty());
  const auto write = [&](const std::string& tree, const at::Tensor& video) {
    const fs::path file = MindPrediction::file(path(tree), found[0]);
    fs::create_directories(file.parent_path());
    io::VideoOptions options;
    options.lossless = true;
    options.fps = 24;
    io::write_video(file, video, options);
  };
  const at::Tensor truth = frames(23).narrow(0, 20, 3);
  write("perfect", truth);
  write("dark", at::zeros({2, 36, 64, 3}, at::kByte));
  MindPredictionSuite suite(
      {parse_models({path("perfect").string(), path("dark").string()}), path("MIND"), {}, {}, {}});
  run_suite(suite, {path("scores")});
  const auto parts = read_parts(suite, path("scores"));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].values.at("perfect").at("psnr")[0], kIdenticalPsnr);
  EXPECT_NEAR(parts[0].values.at("perfect").at("ssim")[0], 1, 1e-9);
  // Black frames against the recording, over the two frames that both videos have.
  double wanted = 0;
  for (int64_t i = 0; i < 2; ++i) {
    wanted += mind_frame(truth[i]).to(at::kDouble).square().mean().item<double>() / 2;
  }
  EXPECT_NEAR(parts[1].values.at("dark").at("mse")[0], wanted, 1e-6);
  MindScoring compatible;
  compatible.compatible = true;
  EXPECT_TRUE(
      mind_values(found[0], MindPrediction::file(path("dark"), found[0]), compatible, nullptr)
          .empty());
  add_clip("data-27", 20, 26);
  EXPECT_THROW(
      MindPredictionSuite({parse_models({path("dark").string()}), path("MIND"), {}, {}, {}}), Error)
      << "one clip has no prediction";
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
  setup.metrics = {"mse", "psnr", "ssim"};
  ContinuationSuite suite(setup);
  EXPECT_EQ(run_suite(suite, {path("out")}), 0);
  const fs::path video = path("out/predictions/model/1st_data/mem_test/data-26/video.mp4");
  ASSERT_TRUE(fs::exists(video));
  EXPECT_EQ(io::read_frames(video).sizes(), at::IntArrayRef({3, kTinyHeight, kTinyWidth, 3}));
  // The suite reports the score of the written files.
  MindPredictionSuite scorer(
      {parse_models({path("out/predictions/model").string()}), path("MIND"), {}, {}, {}});
  run_suite(scorer, {path("scores")});
  EXPECT_EQ(read_parts(scorer, path("scores"))[0].values.at("model").at("psnr"),
            read_parts(suite, path("out"))[0].values.at("model").at("psnr"));

  const ClipFormat format = common_format(setup.models, {});
  const auto clips = open_mind(find_mind(path("MIND")), format, {});
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
