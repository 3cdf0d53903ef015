// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/formats/format.h"

#include <algorithm>

#include "loci/base/error.h"
#include "loci/base/log.h"
#include "loci/camera/path/resample.h"

namespace loci::camera {

namespace {

// Files contain rounded times; frame rates are whole numbers or multiples of 1000 / 1001.
double nearest_usual_rate(double fps) {
  const double whole = std::round(fps);
  for (const double rate : {whole, whole * 1000 / 1001}) {
    if (whole > 0 && std::abs(fps / rate - 1) < 1e-4) return rate;
  }
  return fps;
}

}  // namespace

Trajectory empty_path(const Format& format, const ReadOptions& options) {
  Trajectory path;
  path.frames_per_pose = format.one_pose_per_latent ? kFramesPerLatent : 1;
  path.fps = options.video_fps.value_or(format.video_fps) / path.frames_per_pose;
  path.width = options.size.width;
  path.height = options.size.height;
  return path;
}

void set_times(Trajectory& trajectory, const std::vector<double>& seconds,
               const std::vector<int64_t>& lines, std::string_view file,
               const ReadOptions& options) {
  for (size_t i = 0; i < seconds.size(); ++i) {
    const Where where{file, "line", lines[i]};
    if (!std::isfinite(seconds[i])) fail("{}: the time is not finite", where.str());
    if (i > 0 && seconds[i] <= seconds[i - 1]) {
      fail("{}: the time does not increase; poses must be in order of time", where.str());
    }
  }
  if (seconds.size() < 2) return;
  const double span = seconds.back() - seconds.front();
  const double step = span / static_cast<double>(seconds.size() - 1);
  trajectory.fps = nearest_usual_rate(1 / step);
  double worst = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    worst = std::max(worst, std::abs(seconds[i] - seconds.front() - static_cast<double>(i) * step));
  }
  if (worst <= 0.1 * step) return;
  log_warning("{}: the times are uneven; the path is resampled to {:.4g} poses per second", file,
              trajectory.fps);
  trajectory = resample(trajectory, seconds, trajectory.fps, options.max_seconds);
}

void make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directory(path, error);
  if (!std::filesystem::is_directory(path)) {
    fail("cannot write {}: this format needs a folder, which cannot be created", path.string());
  }
}

}  // namespace loci::camera
