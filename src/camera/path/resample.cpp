// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/path/resample.h"

#include <algorithm>

#include "loci/base/error.h"
#include "loci/camera/lens.h"

namespace loci::camera {

namespace {

// A copy without the cameras.
Trajectory like(const Trajectory& trajectory) {
  Trajectory copy = trajectory;
  copy.cameras.clear();
  return copy;
}

// Appends the camera of `from` at index `at`, interpolated if it is between two cameras.
void append(Trajectory& to, const Trajectory& from, double at) {
  const size_t last = from.cameras.size() - 1;
  const size_t index = std::min(static_cast<size_t>(std::max(at, 0.0)), last);
  const double t = at - static_cast<double>(index);
  // An index within rounding error of a camera is that camera.
  constexpr double kOnPose = 1e-9;
  if (t < kOnPose || index == last) {
    to.cameras.push_back(from.cameras[index]);
  } else if (t > 1 - kOnPose) {
    to.cameras.push_back(from.cameras[index + 1]);
  } else {
    const Camera& a = from.cameras[index];
    const Camera& b = from.cameras[index + 1];
    to.cameras.push_back({interpolate(a.pose, b.pose, t), interpolate(a.lens, b.lens, t)});
  }
}

// The number of cameras at `fps` of the first `max_seconds` of a path of `seconds`, including the
// first. A remainder of the path is dropped; a remainder of `max_seconds` is covered.
int64_t pose_count(double seconds, double max_seconds, double fps) {
  constexpr double kRounding = 1e-6;
  // At low rates `max_seconds` may be shorter than the rounding of a step.
  const double needed =
      max_seconds > 0 ? std::max(1.0, std::ceil(max_seconds * fps - kRounding)) : 0.0;
  const double steps = std::min(std::floor(seconds * fps + kRounding), needed);
  if (!(steps < static_cast<double>(kMaxPoses))) {
    fail(
        "a camera path of {:.4g} s at {:.4g} poses per second has too many poses; expected at most "
        "{}: shorten the path (--seconds) or choose a lower rate",
        std::min(seconds, max_seconds), fps, kMaxPoses);
  }
  return static_cast<int64_t>(steps) + 1;
}

}  // namespace

Trajectory resample(const Trajectory& trajectory, double fps, double max_seconds) {
  LOCI_CHECK(fps > 0 && !trajectory.cameras.empty(), "resampling {} poses to {} per second",
             trajectory.cameras.size(), fps);
  Trajectory result = like(trajectory);
  result.fps = fps;
  const int64_t count = pose_count(trajectory.seconds(), max_seconds, fps);
  result.cameras.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    append(result, trajectory, static_cast<double>(i) * trajectory.fps / fps);
  }
  return result;
}

Trajectory resample(const Trajectory& trajectory, const std::vector<double>& seconds, double fps,
                    double max_seconds) {
  LOCI_CHECK(fps > 0 && !seconds.empty() && seconds.size() == trajectory.cameras.size(),
             "{} times for {} poses", seconds.size(), trajectory.cameras.size());
  Trajectory result = like(trajectory);
  result.fps = fps;
  const int64_t count = pose_count(seconds.back() - seconds.front(), max_seconds, fps);
  result.cameras.reserve(static_cast<size_t>(count));
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

std::vector<Camera> latent_cameras(std::span<const Camera> frames, const TimeGrid& grid) {
  std::vector<Camera> cameras;
  for (int64_t latent = 0; latent < grid.latents_in_frames(std::ssize(frames)); ++latent) {
    cameras.push_back(frames[static_cast<size_t>(grid.camera_frame(latent))]);
  }
  return cameras;
}

Trajectory latent_poses(const Trajectory& frames) {
  if (frames.frames_per_pose == kFramesPerLatent) return frames;
  LOCI_CHECK(frames.frames_per_pose == 1, "{} frames per pose; expected 1 or 4",
             frames.frames_per_pose);
  Trajectory result = like(frames);
  result.frames_per_pose = kFramesPerLatent;
  result.fps = frames.fps / kFramesPerLatent;
  result.cameras = latent_cameras(frames.cameras, kPathGrid);
  return result;
}

Trajectory frame_poses(const Trajectory& latents, double max_seconds) {
  Trajectory result = resample(latents, latents.video_fps(), max_seconds);
  result.frames_per_pose = 1;
  return result;
}

int64_t padded_latents(int64_t latents) {
  return kPathGrid.padded_latents(std::max<int64_t>(latents, 2));
}

Trajectory pad_to_chunks(const Trajectory& latents) {
  LOCI_CHECK(!latents.cameras.empty(), "a path without cameras cannot be padded");
  Trajectory result = latents;
  const auto count =
      static_cast<size_t>(padded_latents(static_cast<int64_t>(latents.cameras.size())));
  result.cameras.resize(count, latents.cameras.back());
  return result;
}

}  // namespace loci::camera
