// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"
#include "loci/camera/lens.h"
#include "loci/eval/camera/camera_suite.h"
#include "loci/eval/camera/two_view.h"
#include "loci/world/clip/clip_maker.h"

namespace loci::eval {
namespace {

// Rendered frames follow their own poses and not other ones.
TEST(TwoView, EstimatesTheMotionOfRenderedFrames) {
  if (!two_view_available()) GTEST_SKIP() << "built without OpenCV";
  world::ClipOptions options;
  options.width = 384;
  options.height = 256;
  options.frames = 33;
  options.split = world::Split::kTest;
  options.scene.style = world::Style::kTown;
  options.depth = true;
  options.designed = {world::DesignedPath::kStraight};
  const world::Clip clip = world::make_clip(3, 0, options);
  const camera::Pinhole lens =
      camera::pixel_pinhole(clip.trajectory.cameras.front().lens, {384, 256}, "test");
  std::vector<at::Tensor> frames;
  std::vector<camera::Pose> poses;
  for (size_t i = 0; i < clip.trajectory.cameras.size(); i += 4) {
    frames.push_back(clip.frames[static_cast<int64_t>(i)]);
    poses.push_back(clip.trajectory.cameras[i].pose);
  }
  const MetricValues values = camera_values(frames, poses, lens);
  ASSERT_TRUE(values.contains("rotation")) << values.at("failed")[0];
  EXPECT_LT(values.at("rotation")[0], 1);
  EXPECT_LT(values.at("failed")[0], 0.5);
  EXPECT_FALSE(values.contains("distance_ratio")) << "without depth";
  // The ratio of distances is 1 for the true poses and 0.5 for poses that go twice as far.
  std::vector<camera::Pose> farther = poses;
  for (camera::Pose& pose : farther) {
    pose.position = poses[0].position + (pose.position - poses[0].position) * 2;
  }
  const double moved = camera::norm(poses.back().position - poses[0].position);
  ASSERT_GT(moved, kMinDistance) << "the camera hardly moves";
  const MetricValues metric = camera_values(frames, poses, lens, clip.depth[0]);
  EXPECT_NEAR(metric.at("distance_ratio")[0], 1, 0.05);
  EXPECT_NEAR(camera_values(frames, farther, lens, clip.depth[0]).at("distance_ratio")[0], 0.5,
              0.03);
  // The same frames, but the commanded camera turns 10 degrees more per frame.
  for (size_t i = 0; i < poses.size(); ++i) {
    poses[i].rotation = poses[i].rotation * camera::rotation_from_angles(
                                                camera::radians(10) * static_cast<double>(i), 0);
  }
  EXPECT_GT(camera_values(frames, poses, lens).at("rotation")[0], 5);
}

TEST(TwoView, HandlesFramesWithoutDetail) {
  if (!two_view_available()) {
    EXPECT_THROW(two_view_motion({}, {}, {}), Error);
    return;
  }
  const at::Tensor black = at::zeros({64, 96, 3}, at::kByte);
  EXPECT_FALSE(two_view_motion(black, black, {80, 80, 48, 32}).has_value());
  const MetricValues values = camera_values({black, black}, {{}, {}}, {80, 80, 48, 32});
  EXPECT_EQ(values.at("failed"), std::vector<double>{1});
  EXPECT_FALSE(values.contains("rotation"));
  EXPECT_TRUE(camera_values({black}, {{}}, {80, 80, 48, 32}).empty());
}

}  // namespace
}  // namespace loci::eval
