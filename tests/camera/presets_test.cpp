// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/path/presets.h"

#include <gmock/gmock.h>

#include "loci/camera/path/keys.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/statistics.h"

#include "paths.h"

namespace loci::camera {
namespace {

TEST(Presets, FillWholeChunksWithinTrainingSpeeds) {
  for (const Preset& preset : presets()) {
    SCOPED_TRACE(std::string(preset.name));
    const Trajectory path = make_preset(preset.name);
    EXPECT_EQ(path.cameras.size() % 20, 1u);
    EXPECT_GE(path.seconds(), 20);
    EXPECT_EQ(path.cameras.front().pose, Pose{});
    const PathStatistics s = path_statistics(path);
    EXPECT_LE(s.max_speed, kTrainedSpeed * (1 + 1e-9));
    EXPECT_LE(s.max_turn_rate, kTrainedTurn * (1 + 1e-9));
    EXPECT_FALSE(s.too_fast() || s.turns_too_fast());
    // Smooth: between frames the speed changes by a small share of its maximum.
    double before = 0, largest = 0, change = 0;
    for (size_t i = 1; i < path.cameras.size(); ++i) {
      const double step =
          norm(path.cameras[i].pose.position - path.cameras[i - 1].pose.position) +
          angle_between(path.cameras[i - 1].pose.rotation, path.cameras[i].pose.rotation);
      largest = std::max(largest, step);
      change = std::max(change, std::abs(step - before));
      before = step;
    }
    EXPECT_LE(change, 0.2 * largest);
  }
}

TEST(Presets, DesignedPathsOfTheEvaluation) {
  for (const auto& [pose, lens] : make_preset("static").cameras) EXPECT_EQ(pose, Pose{});
  const Trajectory straight = make_preset("straight", {.distance = 3});
  expect_near(straight.cameras.back().pose, {Mat3{}, {0, 0, 3}}, 1e-9, "straight");
  EXPECT_EQ(path_statistics(straight).turn, 0);
  const Trajectory pitch = make_preset("look_around_pitch");
  expect_near(pitch.cameras.back().pose, Pose{}, 1e-9, "look_around_pitch");
  double up = 0, down = 0, right = 0, left = 0;
  for (const auto& [pose, lens] : pitch.cameras) {
    up = std::max(up, degrees(pose.pitch()));
    down = std::min(down, degrees(pose.pitch()));
    right = std::max(right, degrees(pose.yaw()));
    left = std::min(left, degrees(pose.yaw()));
  }
  EXPECT_NEAR(up, 20, 0.1);
  EXPECT_NEAR(down, -20, 0.1);
  EXPECT_NEAR(right, 70, 0.1);
  EXPECT_NEAR(left, -70, 0.1);
}

TEST(Presets, StartAndEndAtTheDocumentedPoses) {
  const auto yaw_range = [](const Trajectory& path) {
    double low = 0, high = 0;
    for (const auto& [pose, lens] : path.cameras) {
      low = std::min(low, pose.yaw());
      high = std::max(high, pose.yaw());
    }
    return std::pair(degrees(low), degrees(high));
  };
  Trajectory path = make_preset("look_around");
  expect_near(path.cameras.back().pose, Pose{}, 1e-9, "look_around");
  EXPECT_NEAR(yaw_range(path).first, -70, 0.1);
  EXPECT_NEAR(yaw_range(path).second, 70, 0.1);
  EXPECT_NEAR(degrees(path_statistics(path).turn), 280, 0.5);

  path = make_preset("forward_back");
  expect_near(path.cameras.back().pose, Pose{}, 1e-9, "forward_back");
  expect_near(path.cameras[path.cameras.size() / 2].pose, {Mat3{}, {0, 0, 4}}, 1e-9,
              "turning point");

  path = make_preset("orbit_return");
  expect_near(path.cameras.back().pose, Pose{}, 1e-9, "orbit_return");
  const Pose& far = path.cameras[path.cameras.size() / 2].pose;
  EXPECT_NEAR(far.yaw(), radians(-60), 1e-6);
  EXPECT_GT(far.position.x, 3) << "must move right";
  for (const auto& [pose, lens] : path.cameras) {  // always 4 m from the point ahead, looking at it
    EXPECT_NEAR(norm(pose.position + pose.forward() * 4 - Vec3{0, 0, 4}), 0, 1e-9);
  }

  path = make_preset("walk_turn");
  expect_near(path.cameras.back().pose, {rotation_from_angles(std::numbers::pi, 0), {}}, 1e-6,
              "walk_turn");
  EXPECT_NEAR(path_statistics(path).distance, 6, 1e-6);
  path = make_preset("square");
  expect_near(path.cameras.back().pose, Pose{}, 1e-9, "square");
  EXPECT_NEAR(path_statistics(path).distance, 8, 1e-2);
  path = make_preset("spin");
  expect_near(path.cameras.back().pose, Pose{}, 1e-9, "spin");
  EXPECT_NEAR(degrees(path_statistics(path).turn), 360, 1e-6);
  EXPECT_FALSE(path_statistics(path).revisits.empty());
}

TEST(Presets, ApplyOrRejectOptions) {
  const Trajectory path = make_preset(
      "walk_turn", {.seconds = 31, .angle = 90, .distance = 1, .fps = 24, .fov_x = radians(60)});
  EXPECT_EQ(path.fps, 24);
  EXPECT_EQ(path.cameras.size(), 761u) << "31 s are 744 frames; 38 chunks of 20";
  EXPECT_NEAR(path.cameras.back().pose.yaw(), radians(90), 1e-9);
  EXPECT_NEAR(path.cameras[5].lens.fov_x, radians(60), 1e-12);
  const PathStatistics hasty = path_statistics(make_preset("spin", {.seconds = 5}));
  EXPECT_TRUE(hasty.turns_too_fast());
  EXPECT_THAT(refusal([] { make_preset("spinn"); }), ::testing::HasSubstr("did you mean 'spin'?"));
  EXPECT_THAT(refusal([] { make_preset("spin", {.distance = 3}); }),
              ::testing::HasSubstr("no distance"));
  EXPECT_THAT(refusal([] { make_preset("spin", {.angle = -3}); }), ::testing::HasSubstr("above 0"));
  EXPECT_THAT(refusal([] { make_preset("spin", {.seconds = 1e12}); }),
              ::testing::HasSubstr("expected 1 to 1e6 chunks"));
}

TEST(Statistics, DescribeASteadyPath) {
  Trajectory path;
  path.cameras = with_lens(key_path(parse_key_string("w-32,right-16", 16), {}, 16),
                           lens_from_fov(radians(80)));
  path.cameras[3].lens = lens_from_fov(radians(85));
  PathStatistics s = path_statistics(path);
  EXPECT_EQ(s.poses, 49);
  EXPECT_EQ(s.video_frames, 49);
  EXPECT_DOUBLE_EQ(s.seconds, 3);
  EXPECT_NEAR(s.distance, 2, 1e-9);
  EXPECT_NEAR(s.displacement, 2, 1e-9);
  EXPECT_NEAR(degrees(s.turn), 30, 1e-9);
  EXPECT_NEAR(s.max_speed, 1, 1e-9);
  EXPECT_NEAR(s.max_step, 0.25, 1e-9);
  EXPECT_NEAR(degrees(s.max_turn_rate), 30, 1e-9);
  EXPECT_NEAR(degrees(s.max_step_turn), 7.5, 1e-9);
  EXPECT_NEAR(degrees(s.max_fov), 85, 1e-9);
  EXPECT_NEAR(degrees(s.min_fov), 80, 1e-9);
  // The path of latents has the same speeds.
  s = path_statistics(latent_poses(path));
  EXPECT_EQ(s.poses, 13);
  EXPECT_EQ(s.video_frames, 49);
  EXPECT_NEAR(s.max_speed, 1, 1e-9);
  EXPECT_NEAR(s.max_step, 0.25, 1e-9);
  // At 24 frames per second a latent is shorter.
  path.fps = 24;
  EXPECT_NEAR(path_statistics(path).max_step, 0.25, 1e-9);
  EXPECT_NEAR(path_statistics(path).max_speed, 1.5, 1e-9);
  path.cameras.resize(3);
  EXPECT_NEAR(path_statistics(path).max_step, 0.25, 1e-9) << "two frames of four, scaled";
  path.cameras.resize(1);
  EXPECT_EQ(path_statistics(path).max_speed, 0);
  EXPECT_EQ(to_json(path_statistics(path))["poses"], 1);
}

}  // namespace
}  // namespace loci::camera
