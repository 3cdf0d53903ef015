// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/world/clip/clip_maker.h"
#include "loci/world/clip/sheet.h"

#include "tests/base/expect_error.h"

namespace loci::world {
namespace {

using ::testing::HasSubstr;

ClipOptions small(int64_t frames = 3) {
  ClipOptions options;
  options.frames = frames;
  options.width = 32;
  options.height = 24;
  return options;
}

void expect_equal(const Clip& a, const Clip& b) {
  EXPECT_EQ(a.origin, b.origin);
  EXPECT_EQ(a.captions, b.captions);
  EXPECT_EQ(a.trajectory.cameras, b.trajectory.cameras);
  EXPECT_TRUE(at::equal(a.frames, b.frames)) << a.origin->index;
}

TEST(Clip, IsDeterminedBySeedAndIndex) {
  ClipOptions options = small();
  options.depth = true;
  const Clip clip = make_clip(1, 7, options);
  EXPECT_EQ(clip.frames.sizes(), (at::IntArrayRef{3, 24, 32, 3}));
  EXPECT_EQ(clip.depth.sizes(), (at::IntArrayRef{3, 24, 32}));
  EXPECT_EQ(clip.trajectory.cameras.size(), 3u);
  EXPECT_EQ(clip.trajectory.cameras.size(), 3u);
  EXPECT_NEAR(clip.trajectory.cameras[0].lens.fov_x, 75 * kPi / 180, 1e-12);
  EXPECT_GT(clip.depth.min().item<float>(), 0);
  EXPECT_GT(clip.frames.to(at::kFloat).std().item<float>(), 8) << "the image must have contrast";
  expect_equal(clip, make_clip(1, 7, options));
  EXPECT_NE(make_clip(1, 8, options).origin->scene_seed, clip.origin->scene_seed);
  EXPECT_NE(make_clip(2, 7, options).origin->scene_seed, clip.origin->scene_seed);
  // A maker that made another clip in between gives the same clip.
  ClipMaker maker(options);
  maker.make(1, 3);
  expect_equal(maker.make(1, 7), clip);
}

TEST(Clip, SplitsNeverShareAScene) {
  ClipOptions options = small();
  int test = 0;
  for (int64_t i = 0; i < 400; ++i) {
    options.split = Split::kTrain;
    EXPECT_FALSE(is_test_scene(plan_clip(3, i, options).scene_seed));
    EXPECT_FALSE(plan_clip(3, i, options).scene.style.has_value());
    options.split = Split::kTest;
    EXPECT_TRUE(is_test_scene(plan_clip(3, i, options).scene_seed));
    options.split = Split::kHeldOut;
    const ClipPlan held_out = plan_clip(3, i, options);
    EXPECT_TRUE(is_test_scene(held_out.scene_seed));
    EXPECT_TRUE(held_out.scene.style == Style::kRuins || held_out.scene.style == Style::kGarden);
    test += is_test_scene(static_cast<uint64_t>(i)) ? 1 : 0;
  }
  EXPECT_GT(test, 10);
  EXPECT_LT(test, 45);
  options.split = Split::kTrain;
  options.scene.style = Style::kGarden;
  EXPECT_BAD_INPUT(plan_clip(3, 0, options), HasSubstr("held out from training"));
  EXPECT_EQ(parse_split("held-out"), Split::kHeldOut);
  EXPECT_BAD_INPUT(parse_split("validation"), HasSubstr("train, test, held-out"));
}

TEST(Clip, FollowsTheRevisitShare) {
  ClipOptions options = small();
  for (const double share : {0.0, 0.3, 1.0}) {
    options.revisit_share = share;
    int returns = 0;
    for (int64_t i = 0; i < 1000; ++i) returns += plan_clip(5, i, options).returns ? 1 : 0;
    EXPECT_NEAR(returns / 1000.0, share, 0.05);
  }
  // Clips that are planned to return do so, and list their revisits.
  options.revisit_share = 1;
  options.frames = 321;
  options.width = 8;
  options.height = 8;
  options.samples = 1;
  for (int64_t i = 0; i < 4; ++i) {
    const Clip clip = make_clip(6, i, options);
    EXPECT_FALSE(clip.revisits.empty()) << i;
    for (const camera::Revisit& r : clip.revisits) EXPECT_GE(r.gap, 8);
  }
}

TEST(Clip, BeginsWithATourOnRequest) {
  ClipOptions options = small(static_cast<int64_t>(kTourSeconds) * 16 + 1);
  options.width = options.height = 8;
  options.samples = 1;
  options.scene.style = Style::kPlaza;
  EXPECT_FALSE(describe(options).contains("tour"));
  EXPECT_EQ(make_clip(1, 0, options).path, "walk");
  options.tour = true;
  EXPECT_EQ(describe(options)["tour"], true);
  const Clip clip = make_clip(1, 0, options);
  EXPECT_EQ(clip.path, "tour");
  EXPECT_EQ(clip.origin->style, "plaza");
  const camera::Pose &first = clip.trajectory.cameras.front().pose,
                     &last = clip.trajectory.cameras.back().pose;
  EXPECT_LT(camera::norm(first.position - last.position), 1e-3);
  EXPECT_LT(camera::angle_between(first.rotation, last.rotation), 1e-3);
  options.designed = {DesignedPath::kSpin};
  EXPECT_BAD_INPUT(make_clip(1, 0, options), HasSubstr("both a tour and a designed path"));
  options.designed.clear();
  options.scene.style = Style::kTown;
  EXPECT_BAD_INPUT(make_clip(1, 0, options), HasSubstr("have no tour"));
}

TEST(Clip, SpeedsFollowTheStyleOrTheOptions) {
  const auto fastest = [](const ClipOptions& options) {
    double metres = 0, degrees = 0;
    for (int64_t clip = 0; clip < 4; ++clip) {
      ClipMaker maker(options);
      const std::vector<camera::Pose> poses = maker.plan_trajectory(9, clip).poses;
      for (size_t i = 1; i < poses.size(); ++i) {
        metres = std::max(metres, camera::norm(poses[i].position - poses[i - 1].position) * 16);
        const double turn = camera::angle_between(poses[i].rotation, poses[i - 1].rotation);
        degrees = std::max(degrees, turn * 16 * 180 / kPi);
      }
    }
    return std::pair(metres, degrees);
  };
  ClipOptions options = small(321);
  options.scene.style = Style::kPlaza;
  const auto [slow, slow_turn] = fastest(options);
  EXPECT_LT(slow, 0.9);
  EXPECT_LT(slow_turn, 19);
  EXPECT_FALSE(describe(options).contains("speed"));
  options.speed = 1.6;
  options.turn_rate = 31;
  const auto [quick, quick_turn] = fastest(options);
  EXPECT_GT(quick, 1.3);
  EXPECT_GT(quick_turn, 27);
  EXPECT_EQ(describe(options)["speed"], 1.6);
  EXPECT_EQ(describe(options)["turn_rate"], 31);
  options.speed = 0;
  EXPECT_BAD_INPUT(make_clip(1, 0, options), HasSubstr("the speed is 0"));
}

TEST(Clip, RejectsInvalidOptions) {
  ClipOptions options = small();
  options.frames = 0;
  EXPECT_BAD_INPUT(make_clip(0, 0, options), HasSubstr("number of frames"));
  options = small();
  options.width = 100000;
  EXPECT_BAD_INPUT(make_clip(0, 0, options), HasSubstr("width"));
  options = small();
  options.fov = 170;
  EXPECT_BAD_INPUT(make_clip(0, 0, options), HasSubstr("field of view"));
  options = small();
  options.revisit_share = 1.5;
  EXPECT_BAD_INPUT(make_clip(0, 0, options), HasSubstr("share of revisits"));
  EXPECT_BAD_INPUT(make_clip(0, -1, small()), HasSubstr("negative"));
}

TEST(ClipLoader, OrderAndContentDoNotDependOnWorkers) {
  ClipOptions clips = small(2);
  clips.clips_per_scene = 2;
  std::vector<Clip> expected;
  ClipMaker maker(clips);
  for (int64_t i = 1; i < 7; ++i) expected.push_back(maker.make(9, i));
  EXPECT_EQ(expected[1].origin->scene_seed, expected[2].origin->scene_seed);
  for (const int workers : {0, 1, 3}) {
    LoaderOptions options;
    options.workers = workers;
    options.ahead = 2;
    options.start = 1;
    options.count = 6;
    const std::unique_ptr<ClipLoader> loader = load_scene_clips(9, clips, options);
    for (const Clip& clip : expected) {
      EXPECT_EQ(loader->position(), clip.origin->index);
      expect_equal(loader->next(), clip);
    }
    EXPECT_TRUE(loader->at_end());
  }
}

TEST(ClipLoader, DistributesClipsOverRanks) {
  std::set<int64_t> seen;
  for (int64_t rank = 0; rank < 3; ++rank) {
    LoaderOptions options;
    options.rank = rank;
    options.ranks = 3;
    options.group = 4;
    for (int64_t position = 0; position < 40; ++position) {
      const int64_t index = index_at(position, options);
      EXPECT_TRUE(seen.insert(index).second);
      EXPECT_EQ(index / 4 % 3, rank);
    }
  }
  EXPECT_EQ(*seen.rbegin(), 119);
}

TEST(ClipLoader, ThrowsErrorsInOrderAndDropsUnusedClips) {
  struct Failing : ClipSource {
    Clip make(int64_t index) override {
      if (index == 2) fail("clip 2 is broken");
      Clip clip;
      clip.path = std::to_string(index);
      return clip;
    }
  };
  LoaderOptions options;
  options.workers = 2;
  ClipLoader loader([] { return std::make_unique<Failing>(); }, options);
  EXPECT_EQ(loader.next().path, "0");
  EXPECT_EQ(loader.next().path, "1");
  EXPECT_BAD_INPUT(loader.next(), HasSubstr("broken"));
  EXPECT_EQ(loader.next().path, "3");
  // The destructor runs with clips in the queue and waiting workers.
}

TEST(Sheet, PlacesPicturesSideBySide) {
  const at::Tensor scenes = scene_sheet(1, 3, 2, small());
  EXPECT_EQ(scenes.sizes(), (at::IntArrayRef{48, 64, 3}));
  EXPECT_EQ(scenes.narrow(0, 24, 24).narrow(1, 32, 32).max().item<int>(), 0)
      << "there is no fourth scene";
  const at::Tensor clips = clip_sheet(1, 1, 3, small());
  EXPECT_EQ(clips.sizes(), (at::IntArrayRef{24, 96, 3}));
  EXPECT_TRUE(at::equal(clips.narrow(1, 64, 32), make_clip(1, 0, small()).frames[2]));
}

}  // namespace
}  // namespace loci::world
