// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/path/resample.h"

#include <algorithm>

#include "loci/base/error.h"
#include "loci/camera/lens.h"

namespace loci::camera {

namespace {

// Everything but the poses and lenses.
Trajectory like(const Trajectory& trajectory) {
  Trajectory copy = trajectory;
  copy.poses.clear();
  copy.intrinsics.clear();
  return copy;
}

// Appends the path at pose index `at`, which may lie between two poses.
void append(Trajectory& to, const Trajectory& from, double at) {
  const size_t last = from.poses.size() - 1;
  const size_t index = std::min(static_cast<size_t>(std::max(at, 0.0)), last);
  const double t = at - static_cast<double>(index);
  // An index a rounding error away from a pose is that pose.
  constexpr double kOnPose = 1e-9;
  if (t < kOnPose || index == last) {
    to.poses.push_back(from.poses[index]);
    to.intrinsics.push_back(from.intrinsics[index]);
  } else if (t > 1 - kOnPose) {
    to.poses.push_back(from.poses[index + 1]);
    to.intrinsics.push_back(from.intrinsics[index + 1]);
  } else {
    to.poses.push_back(interpolate(from.poses[index], from.poses[index + 1], t));
    to.intrinsics.push_back(interpolate(from.intrinsics[index], from.intrinsics[index + 1], t));
  }
}

// Poses that `seconds` of path give at `fps`, the first included.
int64_t pose_count(double seconds, double fps) {
  const double steps = std::floor(seconds * fps + 1e-6);
  if (!(steps < 1e8)) fail("{:.4g} s at {:.4g} poses a second are too many poses", seconds, fps);
  return static_cast<int64_t>(steps) + 1;
}

}  // namespace

Trajectory resample(const Trajectory& trajectory, double fps) {
  LOCI_CHECK(fps > 0 && !trajectory.poses.empty(), "resampling {} poses to {} a second",
             trajectory.poses.size(), fps);
  Trajectory result = like(trajectory);
  result.fps = fps;
  const int64_t count = pose_count(trajectory.seconds(), fps);
  for (int64_t i = 0; i < count; ++i) {
    append(result, trajectory, static_cast<double>(i) * trajectory.fps / fps);
  }
  return result;
}

Trajectory resample(const Trajectory& trajectory, const std::vector<double>& seconds, double fps) {
  LOCI_CHECK(fps > 0 && !seconds.empty() && seconds.size() == trajectory.poses.size(),
             "{} times for {} poses", seconds.size(), trajectory.poses.size());
  Trajectory result = like(trajectory);
  result.fps = fps;
  const int64_t count = pose_count(seconds.back() - seconds.front(), fps);
  size_t before = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double time = seconds.front() + static_cast<double>(i) / fps;
    while (before + 2 < seconds.size() && seconds[before + 1] <= time) ++before;
    double t = 0;
    if (seconds.size() > 1) {
      t = std::min((time - seconds[before]) / (seconds[before + 1] - seconds[before]), 1.0);
    }
    append(result, trajectory, static_cast<double>(before) + t);
  }
  return result;
}

Trajectory latent_poses(const Trajectory& frames) {
  if (frames.frames_per_pose == kFramesPerLatent) return frames;
  LOCI_CHECK(frames.frames_per_pose == 1, "{} frames a pose", frames.frames_per_pose);
  Trajectory result = like(frames);
  result.frames_per_pose = kFramesPerLatent;
  result.fps = frames.fps / kFramesPerLatent;
  for (size_t i = 0; i < frames.poses.size(); i += kFramesPerLatent) {
    result.poses.push_back(frames.poses[i]);
    result.intrinsics.push_back(frames.intrinsics[i]);
  }
  return result;
}

Trajectory frame_poses(const Trajectory& latents) {
  Trajectory result = resample(latents, latents.video_fps());
  result.frames_per_pose = 1;
  return result;
}

int64_t padded_latents(int64_t latents) {
  const int64_t chunks =
      std::max<int64_t>(1, (latents - 1 + kLatentsPerChunk - 1) / kLatentsPerChunk);
  return 1 + chunks * kLatentsPerChunk;
}

Trajectory pad_to_chunks(const Trajectory& latents) {
  LOCI_CHECK(!latents.poses.empty(), "nothing to hold");
  Trajectory result = latents;
  const auto count =
      static_cast<size_t>(padded_latents(static_cast<int64_t>(latents.poses.size())));
  result.poses.resize(count, latents.poses.back());
  result.intrinsics.resize(count, latents.intrinsics.back());
  return result;
}

}  // namespace loci::camera
