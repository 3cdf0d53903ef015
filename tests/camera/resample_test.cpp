// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/path/resample.h"

#include "paths.h"
#include "tests/base/expect_error.h"

namespace loci::camera {
namespace {

// 1 m/s forward and 0.5 rad/s to the right, at any rate.
Pose steady(double seconds) { return {rotation_from_angles(0.5 * seconds, 0), {0, 0, seconds}}; }

Trajectory steady_path(size_t count, double fps) {
  Trajectory path;
  path.fps = fps;
  for (size_t i = 0; i < count; ++i) {
    const double seconds = static_cast<double>(i) / fps;
    path.cameras.push_back({steady(seconds), lens_from_fov(1 + 0.1 * seconds)});
  }
  return path;
}

TEST(Resample, PreservesSteadyMotionAtAnyRate) {
  const Trajectory path = steady_path(25, 24);
  for (const double fps : {16.0, 24.0, 30.0, 7.3, 100.0}) {
    const Trajectory other = resample(path, fps);
    EXPECT_EQ(other.fps, fps);
    ASSERT_EQ(other.cameras.size(), static_cast<size_t>(std::floor(fps + 1e-6)) + 1) << fps;
    for (size_t i = 0; i < other.cameras.size(); ++i) {
      const double seconds = static_cast<double>(i) / fps;
      expect_near(other.cameras[i].pose, steady(seconds), 1e-9, std::to_string(fps));
      EXPECT_NEAR(other.cameras[i].lens.fov_x, 1 + 0.1 * seconds, 1e-9);
    }
  }
  // Poses at times of both rates have the same bits.
  const Trajectory wandering = wandering_path(33, 8);
  const Trajectory twice = resample(wandering, 32);
  for (size_t i = 0; i < 33; ++i) EXPECT_EQ(twice.cameras[2 * i].pose, wandering.cameras[i].pose);
  EXPECT_EQ(poses_of(resample(twice, 16).cameras), poses_of(wandering.cameras));
  EXPECT_EQ(resample(steady_path(1, 16), 24).cameras.size(), 1u);
}

TEST(Resample, AcceptsUnevenTimes) {
  Trajectory path;
  std::vector<double> times = {10, 10.05, 10.3, 10.31, 11};
  for (const double time : times) {
    path.cameras.push_back({steady(time - 10), {}});
  }
  const Trajectory even = resample(path, times, 20);
  ASSERT_EQ(even.cameras.size(), 21u);
  for (size_t i = 0; i < 21; ++i) {
    expect_near(even.cameras[i].pose, steady(static_cast<double>(i) / 20), 1e-9, std::to_string(i));
  }
}

TEST(Resample, EndsAfterTheGivenTime) {
  const Trajectory path = steady_path(241, 24);  // ten seconds
  const Trajectory whole = resample(path, 16), part = resample(path, 16, 2);
  ASSERT_EQ(part.cameras.size(), 33u);
  for (size_t i = 0; i < 33; ++i) EXPECT_EQ(part.cameras[i].pose, whole.cameras[i].pose);
  EXPECT_EQ(resample(path, 16, 100).cameras.size(), whole.cameras.size());
  EXPECT_EQ(resample(path, 0.5, 1).cameras.size(), 2u) << "a step of two seconds covers one";
  EXPECT_EQ(resample(steady_path(2, 1), {0, 2e6}, 5e-7, 2).cameras.size(), 2u);
  EXPECT_EQ(resample(path, 16, 0).cameras.size(), 1u);
  EXPECT_EQ(resample(steady_path(4, 1), {0, 1, 5, 5.5}, 16, 2).cameras.size(), 33u);
}

TEST(Resample, RefusesPathsOfTooManyPoses) {
  Trajectory path = steady_path(2, 1.0 / 5e6);  // two poses, 58 days apart
  EXPECT_BAD_INPUT(resample(path, 16), ::testing::HasSubstr("expected at most 4194304"));
  EXPECT_BAD_INPUT(resample(path, {0, 5e6}, 16), ::testing::HasSubstr("expected at most 4194304"));
  EXPECT_EQ(resample(path, 16, 10).cameras.size(), 161u);
  path.frames_per_pose = 4;
  path.fps = 1e-7;
  EXPECT_EQ(frame_poses(path).cameras.size(), 5u);
}

TEST(Resample, LatentsHaveTheCamerasOfEveryFourthFrame) {
  const Trajectory frames = wandering_path(20, 2);
  const Trajectory latents = latent_poses(frames);
  ASSERT_EQ(latents.cameras.size(), 5u) << "frames 17 to 19 do not fill a latent";
  EXPECT_EQ(latents.frames_per_pose, 4);
  EXPECT_EQ(latents.fps, 4);
  EXPECT_EQ(latents.video_fps(), 16);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(latents.cameras[i].pose, frames.cameras[4 * i].pose);
  EXPECT_EQ(latent_poses(latents).cameras, latents.cameras);

  const Trajectory back = frame_poses(latents);
  ASSERT_EQ(back.cameras.size(), 17u);
  EXPECT_EQ(back.fps, 16);
  EXPECT_EQ(back.frames_per_pose, 1);
  EXPECT_EQ(poses_of(latent_poses(back).cameras), poses_of(latents.cameras));
  EXPECT_EQ(back.cameras[6].pose.position,
            interpolate(latents.cameras[1].pose, latents.cameras[2].pose, 0.5).position);
}

TEST(Resample, PadsToWholeChunks) {
  for (const auto& [latents, padded] :
       {std::pair{1, 6}, {2, 6}, {6, 6}, {7, 11}, {11, 11}, {81, 81}, {82, 86}}) {
    EXPECT_EQ(padded_latents(latents), padded);
  }
  const Trajectory path = latent_poses(wandering_path(29, 2));
  const Trajectory padded = pad_to_chunks(path);
  ASSERT_EQ(padded.cameras.size(), 11u);
  EXPECT_EQ(padded.cameras[7].pose, path.cameras[7].pose);
  for (size_t i = 8; i < 11; ++i) EXPECT_EQ(padded.cameras[i].pose, path.cameras[7].pose);
}

}  // namespace
}  // namespace loci::camera
