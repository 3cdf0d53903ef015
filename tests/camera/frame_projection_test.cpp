// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/frame_projection.h"

#include <numbers>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/camera/path/step_keys.h"
#include "loci/camera/view_overlap.h"

#include "tests/base/expect_error.h"

namespace loci::camera {
namespace {

using ::testing::HasSubstr;

std::vector<Camera> turning(int64_t count) {
  std::vector<Camera> cameras;
  for (int64_t i = 0; i < count; ++i) {
    const auto t = static_cast<double>(i);
    cameras.push_back({{rotation_from_angles(0.3 * t, 0.1 * t), {0.5 * t, 0.2, 2 * t}},
                       {.fov_x = 1.2 + 0.1 * t}});
  }
  return cameras;
}

TEST(FrameProjection, IsInvertedForEveryOption) {
  for (const bool logarithmic : {false, true}) {
    for (const int64_t each : {1, 2}) {
      const FrameProjections p = frame_projections(
          turning(4), 1.5,
          {.cameras_per_latent = each, .translation_scale = 6, .logarithmic = logarithmic});
      EXPECT_EQ(p.project.sizes(), at::IntArrayRef({4 / each, 4 * each, 4}));
      const at::Tensor product = at::matmul(p.project.view({4, 4, 4}), p.unproject.view({4, 4, 4}));
      EXPECT_TRUE(at::allclose(product, at::eye(4).expand({4, 4, 4}), 1e-5, 1e-5));
    }
  }
}

TEST(FrameProjection, ProjectsPointsOfTheWorld) {
  // A camera at (0, 0, -2) that looks along z: the point (1, 0, 0) is at depth 2.
  const Camera camera{{Mat3(), {0, 0, -2}}, {.fov_x = std::numbers::pi / 2}};
  const at::Tensor point = at::tensor({1.0F, 0.5F, 0.0F, 1.0F});
  const at::Tensor seen = at::matmul(frame_projections({&camera, 1}, 2, {}).project[0], point);
  EXPECT_TRUE(at::allclose(seen, at::tensor({0.5F, 0.5F, 2.0F, 1.0F})));
  // A constant lens replaces that of the camera.
  const at::Tensor fixed = at::matmul(
      frame_projections({&camera, 1}, 2, {.focal = std::array{2.0, 3.0}}).project[0], point);
  EXPECT_TRUE(at::allclose(fixed, at::tensor({2.0F, 1.5F, 2.0F, 1.0F})));
}

TEST(FrameProjection, RoundsToBf16LikeTheExactMatrices) {
  const FrameProjections exact = frame_projections(turning(4), 1.5, {.logarithmic = true});
  const FrameProjections rounded = frame_projections(
      turning(4), 1.5, {.logarithmic = true, .bf16_image = std::array{1280.0, 704.0}});
  EXPECT_FALSE(at::equal(exact.project, rounded.project));
  EXPECT_TRUE(at::allclose(exact.project, rounded.project, 0.02, 0.02));
  EXPECT_TRUE(at::allclose(exact.unproject, rounded.unproject, 0.02, 0.02));
}

TEST(ViewOverlap, FallsWithTheAngle) {
  Camera view{{}, {.fov_x = std::numbers::pi / 2}};
  double before = 1.01;
  for (const double angle : {0.0, 0.4, 0.8, 1.2, 1.6}) {
    Camera other = view;
    other.pose.rotation = rotation_from_angles(angle, 0);
    const double now = view_overlap(view, other, 1.5);
    EXPECT_LT(now, before);
    before = now;
  }
  EXPECT_EQ(view_overlap(view, view, 1.5), 1);
  EXPECT_EQ(before, 0);
}

TEST(StepKeys, TurnFirstAndThenMove) {
  const std::vector<Pose> poses =
      step_key_poses("w*2,l+w,h", {.step = 1, .turn = std::numbers::pi / 2});
  ASSERT_EQ(poses.size(), 5u);
  EXPECT_EQ(poses[2].position.z, 2);
  EXPECT_NEAR(poses[3].position.x, 1, 1e-12);  // to the right of the old view
  EXPECT_NEAR(poses[3].position.z, 2, 1e-12);
  EXPECT_EQ(poses[4].position, poses[3].position);
  EXPECT_BAD_INPUT(step_key_poses("w*0"), HasSubstr("'w*0'"));
  EXPECT_BAD_INPUT(step_key_poses("w*2,x*1"), HasSubstr("the key 'x'"));
}

}  // namespace
}  // namespace loci::camera
