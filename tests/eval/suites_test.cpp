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
#include "loci/camera/path/resample.h"
#include "loci/eval/camera/return_suite.h"
#include "loci/eval/cost/cost_suite.h"
#include "loci/eval/suites/continuation.h"
#include "loci/eval/suites/continuation_suite.h"
#include "loci/eval/suites/path_clips.h"
#include "loci/eval/suites/runner.h"
#include "loci/io/media/image.h"
#include "loci/sample/stream/stream.h"

#include "tests/eval/tiny_recording.h"
#include "tests/model/tiny_model.h"

namespace loci::eval {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Suites : public ::testing::Test {
 protected:
  Suites() {
    make_tiny_folder(path("one"), 1);
    make_tiny_folder(path("two"), 2);
    make_tiny_recording(path("data/a"), 177, 1);
    make_tiny_recording(path("data/b"), 169, 2);
  }
  ~Suites() override { fs::remove_all(folder_); }
  fs::path path(const std::string& name) const { return folder_ / name; }

  std::vector<ModelChoice> models() const {
    return parse_models({path("one").string(), "other=" + path("two").string()});
  }
  // The continuation starts one second before the camera completes a full turn.
  ContinuationSetup setup(const std::string& out) const {
    ContinuationSetup setup;
    setup.suite = "arena";
    setup.title = "test";
    setup.models = models();
    setup.arms = {{"sparse", "sparse", 6}, {"none", "sparse", 0}};
    setup.data = path("data");
    setup.out = path(out);
    setup.sampling.cache = path("cache");
    setup.clips.context_seconds = 9;
    setup.metrics = {"psnr_revisit", "psnr", "ssim", "lpips", "psnr_8_20", "sharpness_revisit"};
    return setup;
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("loci_suites_test_" + std::to_string(::getpid()));
};

TEST_F(Suites, ContinuationSuiteScoresRevisits) {
  ContinuationSuite suite(setup("out"));
  EXPECT_EQ(suite.clips(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(suite.pairs().size(), 4u) << "models with the same arm, arms of the same model";
  EXPECT_EQ(run_suite(suite, {path("out")}), 0);
  const std::vector<PartResult> parts = read_parts(suite, path("out"));
  ASSERT_EQ(parts.size(), 4u);
  const MetricValues& values = parts[0].values.at("one, sparse");
  // 177 frames are 1 + 22 chunks: 18 chunks of context and four generated ones. Revisits start at
  // frame 160 - 14 (32 degrees), one per latent frame.
  ASSERT_TRUE(values.contains("psnr_revisit"));
  EXPECT_EQ(values.at("psnr_revisit").size(), values.at("psnr_8_20").size());
  EXPECT_GE(values.at("psnr_revisit").size(), 6u);
  EXPECT_EQ(values.at("psnr_revisit"), values.at("psnr_context"));
  EXPECT_EQ(values.at("psnr").size(), 1u);
  EXPECT_EQ(parts[0].values.at("one, none").at("visible"), std::vector<double>{0});
  EXPECT_NEAR(values.at("visible")[0], 6, 1e-9);
  EXPECT_NE(values.at("psnr"), parts[0].values.at("one, none").at("psnr"));
  EXPECT_THAT(read_file(path("out/report.html")), HasSubstr("LPIPS: not measured"));

  // With only the first frame as context, some first visits are generated.
  ContinuationSetup shorter = setup("shorter");
  shorter.clips.context_seconds = 0;
  ContinuationSuite early(std::move(shorter));
  EXPECT_EQ(run_suite(early, {path("shorter")}), 0);
  const MetricValues own = read_parts(early, path("shorter"))[0].values.at("one, sparse");
  EXPECT_LT(own.at("psnr_context").size(), own.at("psnr_revisit").size());

  // Two shards give the same values.
  ContinuationSuite again(setup("parts"));
  run_suite(again, {path("parts"), 1, 2});
  run_suite(again, {path("parts"), 0, 2});
  const std::vector<PartResult> divided = read_parts(again, path("parts"));
  ASSERT_EQ(divided.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    for (const auto& [variant, metrics] : parts[i].values) {
      EXPECT_EQ(divided[i].values.at(variant).at("psnr_revisit"), metrics.at("psnr_revisit"));
      EXPECT_EQ(divided[i].values.at(variant).at("ssim"), metrics.at("ssim"));
    }
  }
}

// Readouts and resets add variants of models with recurrent states.
TEST_F(Suites, ReadoutsAndResetsAddVariants) {
  model::TransformerConfig softmax = testing::tiny_config();
  softmax.hybrid_layers.clear();
  softmax.recurrent_memory = "none";
  testing::make_tiny_folder(path("soft"), 3, softmax);
  ContinuationSetup s = setup("out");
  s.models = parse_models({path("one").string(), path("soft").string()});
  s.arms = with_variations(
      {{"sparse", "sparse", 6}},
      {{model::Readout::kOn, model::Readout::kOff, model::Readout::kRandom}, {1, 3, 1000}});
  s.clips.count = 1;
  s.clips.seconds = 1;
  ContinuationSuite suite(s);
  EXPECT_EQ(
      variants_of(suite),
      (std::vector<std::string>{"one", "one, readout off", "one, random readout",
                                "one, states reset every chunk", "one, states reset every 3 chunks",
                                "one, states reset every 1000 chunks", "soft"}));
  EXPECT_EQ(suite.pairs().size(), 6u) << "the other model, and five variations";
  EXPECT_EQ(run_suite(suite, {path("out")}), 0);
  const PartResult part = read_parts(suite, path("out"))[0];
  const auto psnr = [&](const std::string& name) { return part.values.at(name).at("psnr")[0]; };
  for (const char* name : {"one, readout off", "one, random readout",
                           "one, states reset every chunk", "one, states reset every 3 chunks"}) {
    EXPECT_NE(psnr(name), psnr("one")) << name;
  }
  EXPECT_EQ(psnr("one, states reset every 1000 chunks"), psnr("one")) << "the clip is shorter";
  // A state that is reset before every chunk reads zero.
  EXPECT_NEAR(psnr("one, states reset every chunk"), psnr("one, readout off"), 1e-3);

  s.sweep = true;
  s.arms = with_variations({{"0 frames", "sparse", 0}, {"6 frames", "sparse", 6}},
                           {{model::Readout::kOff}, {}});
  s.out = path("sweep");
  ContinuationSuite sweep(s);
  EXPECT_EQ(run_suite(sweep, {path("sweep")}), 0);
  const auto plots = sweep.plots(read_parts(sweep, path("sweep")));
  ASSERT_EQ(plots[0][1].series.size(), 3u);
  EXPECT_EQ(plots[0][1].series[1].name, "one, readout off");
  for (const PlotSeries& series : plots[0][1].series) {
    ASSERT_EQ(series.points.size(), 2u) << series.name;
    EXPECT_EQ(series.points[1].first, 6);
  }
}

// Sharing the encoded context and the decoder's state does not change the frames.
TEST_F(Suites, ContinuationEqualsAStream) {
  const ContinuationSetup s = setup("out");
  const sample::ModelFolder folder(path("one"));
  const ClipFormat format = common_format(s.models, s.sampling);
  const auto clips = open_recordings(s.data, format, {1.0, 1.0, 1});
  const Continuation continuation(folder, *clips, 0, s.sampling);
  std::vector<at::Tensor> got;
  for (int i = 0; i < 2; ++i) {
    got.clear();
    continuation.run(s.arms[0], [&](int64_t, const at::Tensor& frames) { got.push_back(frames); });
  }
  sample::Stream stream(folder.transformer(), &folder.vae(),
                        stream_options(folder, s.arms[0], s.sampling, kTinyWidth, kTinyHeight),
                        folder.prompt("", ""));
  const std::vector<camera::Camera> cameras =
      camera::latent_cameras(clips->clip(0).trajectory.cameras, format.grid);
  const auto known = static_cast<size_t>(continuation.context().size(2));
  ASSERT_EQ(known, 5u);
  stream.accept_recording(continuation.context(), std::span(cameras).first(known));
  ASSERT_EQ(got.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const sample::Chunk chunk = stream.push(std::span(cameras).subspan(known + 2 * i, 2));
    EXPECT_TRUE(at::equal(chunk.frames, got[i])) << i;
  }
  // The latents are cached.
  EXPECT_FALSE(fs::is_empty(path("cache")));
  const at::Tensor cached = encoded_frames(folder.vae(), *clips, 0, 17, path("cache"));
  EXPECT_TRUE(at::equal(cached, continuation.context()));
  // Equal strides, so that BF16 rounds identically with an empty and a filled cache.
  EXPECT_EQ(cached.strides(), continuation.context().strides());
  // Latents of shorter and longer contexts of a clip share their start; other clips differ.
  EXPECT_TRUE(at::equal(encoded_frames(folder.vae(), *clips, 0, 9, path("cache")),
                        continuation.context().narrow(2, 0, 3)));
  EXPECT_TRUE(at::equal(encoded_frames(folder.vae(), *clips, 0, 9, path("fresh")),
                        continuation.context().narrow(2, 0, 3)));
  EXPECT_TRUE(at::equal(encoded_frames(folder.vae(), *clips, 0, 25, path("cache")).narrow(2, 0, 5),
                        continuation.context()));
  const auto both = open_recordings(s.data, format, {1.0, 1.0, 2});
  EXPECT_FALSE(
      at::equal(encoded_frames(folder.vae(), *both, 1, 17, path("cache")), continuation.context()));
}

TEST_F(Suites, RecordingScoresPerfectlyAgainstItself) {
  const ClipFormat format = common_format(models(), {});
  const auto clips = open_recordings(path("data"), format, {9.0, {}, {}});
  const EvalClip& clip = clips->clip(0);
  const Networks none;
  ContinuationScores scores(*clips, 0, none);
  const at::Tensor frames = clips->read(0, clip.context_frames, clip.new_frames());
  scores.add(clip.context_frames, frames.narrow(0, 0, 8));
  scores.add(clip.context_frames + 8, frames.narrow(0, 8, clip.new_frames() - 8));
  const MetricValues values = scores.values();
  EXPECT_EQ(values.at("psnr"), std::vector<double>{kIdenticalPsnr});
  EXPECT_NEAR(values.at("ssim")[0], 1, 1e-12);
  EXPECT_EQ(values.at("mse"), std::vector<double>{0});
  EXPECT_FALSE(values.contains("psnr_20")) << "shorter than 20 s";
  EXPECT_FALSE(values.contains("lpips"));
  for (const double ratio : values.at("sharpness_revisit")) EXPECT_DOUBLE_EQ(ratio, 1);
  const std::vector<PictureRow> rows = scores.pictures("me");
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].cells.size(), 3u);
  EXPECT_THAT(rows[0].cells[2].label, HasSubstr("me: 120.0 dB"));
  EXPECT_FALSE(scores.curves()[0].points.empty());
}

// The values of several seeds are averaged per clip and instant, before variants are paired.
TEST_F(Suites, AveragesSeeds) {
  ContinuationSetup s = setup("both");
  s.models = parse_models({path("one").string()});
  s.arms = {{"sparse", "sparse", 6}};
  s.clips.count = 1;
  s.clips.seconds = 1;
  s.videos = true;
  const auto values = [&](const std::vector<uint64_t>& seeds, const std::string& out) {
    s.sampling.seeds = seeds;
    s.out = path(out);
    ContinuationSuite suite(s);
    EXPECT_EQ(run_suite(suite, {path(out)}), 0);
    return read_parts(suite, path(out))[0].values.at("one");
  };
  const MetricValues both = values({42, 43}, "both"), first = values({42}, "first"),
                     second = values({43}, "second");
  EXPECT_NE(first.at("psnr"), second.at("psnr"));
  EXPECT_NEAR(both.at("psnr")[0], (first.at("psnr")[0] + second.at("psnr")[0]) / 2, 1e-12);
  ASSERT_EQ(both.at("psnr_revisit").size(), first.at("psnr_revisit").size());
  for (size_t i = 0; i < both.at("psnr_revisit").size(); ++i) {
    EXPECT_NEAR(both.at("psnr_revisit")[i],
                (first.at("psnr_revisit")[i] + second.at("psnr_revisit")[i]) / 2, 1e-12);
  }
  EXPECT_TRUE(fs::exists(path("both/predictions/one, seed 43/a.mp4")));
  EXPECT_THAT(read_file(path("both/report.html")), HasSubstr("means over the seeds 42, 43"));
}

// The videos of a run, scored as those of another program, have the values of the run. A missing
// video is listed, and the others are scored.
TEST_F(Suites, ScoresVideosOfOtherPrograms) {
  ContinuationSetup s = setup("model");
  s.models = parse_models({path("one").string()});
  s.arms = {{"sparse", "sparse", 6}};
  s.videos = true;
  ContinuationSuite suite(s);
  run_suite(suite, {path("model")});
  const MetricValues wanted = read_parts(suite, path("model"))[0].values.at("one");
  fs::remove(path("model/predictions/one/b.mp4"));
  ContinuationSetup t = setup("videos");
  t.predictions = {{"videos", path("model/predictions/one")}};
  t.models = parse_models({path("one").string()});
  t.arms = s.arms;
  ContinuationSuite scorer(t);
  EXPECT_EQ(run_suite(scorer, {path("videos")}), 0);
  const Json results = load_json(path("videos/results.json"));
  ASSERT_EQ(results["failed"].size(), 1u);
  EXPECT_THAT(results["failed"][0]["reason"].get<std::string>(),
              HasSubstr("b.mp4: the prediction is missing"));
  EXPECT_EQ(results["pairs"][0]["metrics"]["psnr"]["clips"], 1);
  EXPECT_EQ(results["pairs"][0]["metrics"]["psnr"]["mean"], 0);
  for (const PartResult& part : read_parts(scorer, path("videos"))) {
    if (part.group != "videos") continue;
    EXPECT_EQ(part.values.at("videos").at("psnr_revisit"), wanted.at("psnr_revisit"));
    EXPECT_EQ(part.values.at("videos").at("sharpness_revisit"), wanted.at("sharpness_revisit"));
  }
  t.predictions = {{"videos", path("data")}};
  EXPECT_THROW(ContinuationSuite{t}, Error) << "no video of any clip";

  // The gated return, along a route from the first frame of a recording.
  ReturnSetup r{{}, {{"own"}}, {}, path("data"), path("return")};
  r.routes = {"left-2,right-2"};
  r.distance = "pixels";
  r.count = 1;
  r.predictions = {{"still", path("still")}};
  fs::create_directories(path("still"));
  io::VideoOptions lossless;
  lossless.lossless = true;
  io::write_video(
      path("still/a, left-2,right-2.mp4"),
      tiny_frames(177, 1).narrow(0, 0, 1).expand({100, kTinyHeight, kTinyWidth, 3}).contiguous(),
      lossless);
  ReturnSuite still(r);
  EXPECT_EQ(run_suite(still, {path("return")}), 0);
  const MetricValues gated = read_parts(still, path("return"))[0].values.at("still");
  EXPECT_EQ(gated.at("similarity")[0], 1);
  EXPECT_EQ(gated.at("score")[0], 0) << "the view never changes";
}

TEST_F(Suites, PathsStartFromPictures) {
  fs::create_directories(path("starts"));
  io::write_png(path("starts/street.png"), tiny_frames(1, 4)[0]);
  write_file(path("starts/street.txt"), "a street\n");
  const ClipFormat format = common_format(models(), {});
  const auto clips = open_paths(path("starts"), format, {"set-c"}, 3, {});
  ASSERT_EQ(clips->size(), 7u);
  EXPECT_EQ(clips->clip(0).name, "street, static");
  EXPECT_EQ(clips->clip(6).name, "street, square");
  EXPECT_EQ(clips->clip(0).caption, "a street");
  EXPECT_TRUE(at::equal(clips->read(0, 0, 1), tiny_frames(1, 4)));
  EXPECT_THROW(open_paths(path("starts"), format, {"recorded"}, 3, {}), Error);
}

// Every second frame of the recordings, with seconds of the video or of the recording.
TEST_F(Suites, StrideAndClockOfRecordings) {
  const ClipFormat format = common_format(models(), {});
  ClipOptions options{1.0, {}, 1};
  const auto whole = open_recordings(path("data"), format, options);
  EXPECT_EQ(whole->clip(0).frames(), 177);
  options.stride = 2;
  const auto half = open_recordings(path("data"), format, options);
  EXPECT_EQ(half->clip(0).frames(), 89);
  EXPECT_EQ(half->clip(0).context_frames, 17) << "one second of the video";
  EXPECT_TRUE(at::equal(half->read(0, 5, 1), whole->read(0, 10, 1)));
  EXPECT_EQ(half->clip(0).trajectory.cameras[5].pose, whole->clip(0).trajectory.cameras[10].pose);
  EXPECT_NE(half->identity(0), whole->identity(0));
  options.clock = Clock::kRecorded;
  const auto recorded = open_recordings(path("data"), format, options);
  EXPECT_EQ(recorded->clip(0).context_frames, 9) << "one second of the recording";
  EXPECT_EQ(recorded->clip(0).clock, 8);
  // The turn takes ten seconds of the recording, but only five of the video.
  options.context_seconds = 0;
  EXPECT_FALSE(open_recordings(path("data"), format, options)->clip(0).revisits.empty());
  options.clock = Clock::kGenerated;
  EXPECT_TRUE(open_recordings(path("data"), format, options)->clip(0).revisits.empty());
}

TEST(Instants, AreStratifiedByGap) {
  std::vector<camera::Revisit> revisits;
  const auto add = [&](int count, double gap) {
    for (int i = 0; i < count; ++i) revisits.push_back({std::ssize(revisits), 0, gap});
  };
  add(100, 10);
  add(5, 30);
  add(200, 90);
  const std::vector<size_t> picked = pick_instants(revisits, 60);
  EXPECT_EQ(picked.size(), 60u);
  EXPECT_TRUE(std::is_sorted(picked.begin(), picked.end()));
  const auto within = [&](size_t low, size_t high) {
    return std::count_if(picked.begin(), picked.end(),
                         [&](size_t i) { return i >= low && i < high; });
  };
  EXPECT_EQ(within(0, 100), 27) << "half of what the middle gap leaves";
  EXPECT_EQ(within(100, 105), 5);
  EXPECT_EQ(within(105, 305), 28);
  EXPECT_EQ(pick_instants({revisits.begin(), revisits.begin() + 3}, 60).size(), 3u);
  EXPECT_TRUE(pick_instants({}, 60).empty());
}

TEST(SharedErrors, UseTheWorstRegionOfAllVariants) {
  EvalClip clip;
  clip.revisits = {{8, 0, 10}, {16, 0, 30}};
  // 100 patches; each variant is wrong in other five patches, the second one more.
  at::Tensor a = at::zeros({100}), b = at::zeros({100});
  a.narrow(0, 0, 5).fill_(0.4);
  b.narrow(0, 50, 5).fill_(1);
  MetricValues first, second;
  add_shared_errors(clip, {{{8, a}, {16, a}}, {{8, b}}}, {&first, &second});
  EXPECT_EQ(second.at("local_5_shared").size(), 1u);
  EXPECT_NEAR(second.at("local_5_shared")[0], 1, 1e-6);
  EXPECT_NEAR(first.at("local_5_shared")[0], 0, 1e-6) << "outside of the shared region";
  EXPECT_NEAR(first.at("local_5_shared")[1], 0.4, 1e-6) << "the only variant there";
  EXPECT_EQ(first.at("local_5_shared_8_20").size(), 1u);
}

TEST_F(Suites, RejectIncompatibleInputs) {
  ContinuationSetup s = setup("out");
  s.clips.context_seconds = 60;
  EXPECT_THROW(ContinuationSuite{s}, Error) << "context longer than all recordings";
  EXPECT_THROW(parse_models({path("one").string(), path("one").string()}), Error);
  EXPECT_THROW(parse_models({"=x"}), Error);
  const std::string before = fingerprint(path("one"));
  EXPECT_EQ(fingerprint(path("one")), before);
  EXPECT_NE(fingerprint(path("two")), before);
  s = setup("out");
  write_file(path("two/generation.json"), R"({"width": 96, "height": 32})");
  EXPECT_THROW(ContinuationSuite{s}, Error) << "different frame size";
}

TEST_F(Suites, BudgetDefaultsToTheModelFolder) {
  write_file(path("one/generation.json"), R"({"history": "overlap", "history_frames": 6})");
  const sample::ModelFolder folder(path("one"));
  const auto history = [&](std::optional<int64_t> budget) {
    return stream_options(folder, {"own", {}, budget}, {}, kTinyWidth, kTinyHeight).history;
  };
  EXPECT_EQ(history({}).kind, "overlap");
  EXPECT_EQ(history({}).budget, 6);
  EXPECT_EQ(history({}).recent, 5) << "in addition to frame 0";
  EXPECT_EQ(history(20).budget, 20);
  EXPECT_EQ(history(20).recent, 8);
  EXPECT_EQ(history(0).recent, 0);
  write_file(path("one/generation.json"), R"({"history_frames": 0})");
  EXPECT_THROW(sample::GenerationDefaults::load(path("one")), Error);
}

TEST_F(Suites, DataFingerprintDependsOnVideosOnly) {
  const auto write = [&](const char* name, const char* content) {
    fs::create_directories(path(name).parent_path());
    write_file(path(name), content);
  };
  write("recordings/clips/a.mp4", "1234");
  const std::string known = data_fingerprint(path("recordings"), path("recordings/out"));
  write("recordings/out/b.mp4", "12");  // part of the results
  write("recordings/latents.safetensors", "12");
  EXPECT_EQ(data_fingerprint(path("recordings"), path("recordings/out")), known);
  fs::rename(path("recordings"), path("moved"));
  EXPECT_EQ(data_fingerprint(path("moved"), path("moved/out")), known);
  write("moved/clips/a.mp4", "12345");
  EXPECT_NE(data_fingerprint(path("moved"), path("moved/out")), known);
}

TEST_F(Suites, ReturnScoreIsGated) {
  // The view never changes: the gate is 0.
  EXPECT_EQ(return_score(90, [](int64_t) { return 0.0; }).score(), 0);
  const ReturnScore good =
      return_score(90, [](int64_t frame) { return frame > 20 && frame < 70 ? 1.0 : 0.0; });
  EXPECT_EQ(good.score(), 100);
  // The view changes a little: the lowest similarity is 1 / 1.1.
  const ReturnScore half = return_score(90, [](int64_t frame) {
    return frame == 50 ? 0.1 : frame == 90 ? 0.05 : 0.0;
  });
  EXPECT_NEAR(half.gate, (1 - 1 / 1.1) / 0.15, 1e-12);
  EXPECT_NEAR(half.score(), 100 * half.gate / 1.05, 1e-9);

  ReturnSetup s{models(), {{"own"}}, {}, path("data"), path("return")};
  s.sampling.cache = path("cache");
  s.routes = {"left-2,right-2"};
  s.distance = "lpips";
  EXPECT_THROW(ReturnSuite{s}, Error) << "no weights";
  s.distance = "pixels";
  s.count = 1;
  s.routes = {"strait"};
  EXPECT_THROW(ReturnSuite{s}, Error) << "neither a preset nor a key string";
  s.routes = {"left-2,right-2"};
  ReturnSuite suite(s);
  EXPECT_EQ(suite.clips(), std::vector<std::string>{"a, left-2,right-2"});
  EXPECT_EQ(run_suite(suite, {path("return")}), 0);
  const auto parts = read_parts(suite, path("return"));
  const double score = parts[0].values.at("one").at("score")[0];
  EXPECT_GE(score, 0);
  EXPECT_LE(score, 100);
  EXPECT_EQ(parts[0].pictures[0].cells.size(), 3u);
}

TEST_F(Suites, RouteCanBeTheRecordedPath) {
  const ClipFormat format = common_format(models(), {});
  const auto clips = open_paths(path("data"), format, {"recorded", "left-8"}, 2, 1);
  ASSERT_EQ(clips->size(), 2u);
  EXPECT_EQ(clips->clip(0).name, "a, recorded");
  EXPECT_EQ(clips->clip(0).frames(), 33) << "two seconds";
  const auto whole = open_recordings(path("data"), format, {});
  EXPECT_EQ(clips->clip(0).trajectory.cameras[32].pose, whole->clip(0).trajectory.cameras[32].pose);
  EXPECT_FALSE(clips->has_depth(0));
  EXPECT_EQ(open_paths(path("data"), format, {"recorded"}, 1000, 1)->clip(0).frames(), 177);
}

TEST(Return, FindsTheReturnFrame) {
  std::vector<camera::Pose> poses(41);
  for (int i = 0; i <= 40; ++i) {
    poses[static_cast<size_t>(i)].rotation =
        camera::rotation_from_angles(0.05 * (i <= 20 ? i : 38 - i), 0);
  }
  EXPECT_EQ(return_frame(poses), 38);
  // Without rotation, the position decides; among equals, the last frame.
  std::vector<camera::Pose> moves(21);
  for (int i = 0; i <= 20; ++i) moves[static_cast<size_t>(i)].position.z = i <= 10 ? i : 18 - i;
  EXPECT_EQ(return_frame(moves), 18);
  EXPECT_EQ(return_frame(std::vector<camera::Pose>(5)), 4);
}

TEST_F(Suites, CostGrowsWithADenseHistory) {
  CostSuite suite({models(), {{"sparse", "sparse", 6}, {"dense", "dense"}}, {}, {2, 40}});
  EXPECT_EQ(run_suite(suite, {path("cost")}), 0);
  const auto parts = read_parts(suite, path("cost"));
  ASSERT_EQ(parts.size(), 2u);
  const auto growth = [&](const std::string& variant) {
    const Curve& curve = parts[0].curves.at(variant).at(1);
    return curve.points.at(1).second / curve.points.at(0).second;
  };
  EXPECT_NEAR(growth("one, sparse"), 1, 1e-9);
  EXPECT_GT(growth("one, dense"), 1.5);
}

}  // namespace
}  // namespace loci::eval
