// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/path_clips.h"

#include <algorithm>
#include <cmath>

#include "loci/base/choice.h"
#include "loci/base/error.h"
#include "loci/camera/lens.h"
#include "loci/camera/path/presets.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/path/trajectory_io.h"

namespace loci::eval {

namespace {

camera::Trajectory read_route(const std::string& route, const ClipFormat& format, double seconds) {
  std::vector<std::string> names = {std::string(kRecordedRoute)};
  for (const camera::Preset& preset : camera::presets()) {
    names.emplace_back(preset.name);
    if (preset.name != route) continue;
    camera::PresetOptions options;
    options.seconds = seconds;
    options.fps = format.fps;
    return camera::make_preset(route, options);
  }
  // Every key string contains frame counts.
  if (route.find_first_of("0123456789") == std::string::npos) {
    fail("--route: {}; or give a key string such as w-12,left-8",
         unknown_choice("route", route, names));
  }
  camera::ReadOptions options;
  options.video_fps = format.fps;
  camera::Trajectory path = camera::read_key_string(route, options);
  if (path.frames_per_pose != 1) path = camera::frame_poses(path);
  if (path.fps != format.fps) path = camera::resample(path, format.fps);
  return path;
}

// The recording's own path, at most `seconds` long. Recordings shorter than a chunk are bad input.
camera::Trajectory recorded_route(const world::Recording& recording, const ClipFormat& format,
                                  double seconds) {
  camera::Trajectory path = recording.trajectory();
  const auto wanted =
      static_cast<size_t>(1 + std::max<int64_t>(1, std::llround(seconds * path.fps)));
  if (std::ssize(path.cameras) <= format.grid.frames_per_chunk()) {
    fail("{}: {} frames are too short; expected more than {}, the frames of a chunk",
         recording.name(), path.cameras.size(), format.grid.frames_per_chunk());
  }
  if (path.cameras.size() > wanted) path.cameras.resize(wanted);
  return path;
}

class PathClips : public EvalClips {
 public:
  PathClips(const std::filesystem::path& folder, const ClipFormat& format,
            const std::vector<std::string>& routes, double seconds, std::optional<int64_t> count)
      : EvalClips(format) {
    const world::RecordingOptions options = recording_options(format);
    for (world::RecordingFiles& files : world::find_recordings(folder)) {
      if (count && std::ssize(recordings_) >= *count) break;
      recordings_.emplace_back(std::move(files), options);
      const world::Recording& recording = recordings_.back();
      for (const std::string& route : routes) {
        EvalClip clip;
        clip.name = recording.name() + ", " + route;
        clip.caption = recording.caption();
        clip.trajectory = route == kRecordedRoute ? recorded_route(recording, format, seconds)
                                                  : read_route(route, format, seconds);
        const int64_t last_chunk = format.grid.chunk_of_frame(
            std::max<int64_t>(2, std::ssize(clip.trajectory.cameras)) - 1);
        const auto frames = static_cast<size_t>(format.grid.frames_of_chunk(last_chunk).end);
        const camera::Camera last = clip.trajectory.cameras.back();
        clip.trajectory.cameras.resize(frames, last);
        for (camera::Camera& camera : clip.trajectory.cameras) {
          camera.lens = recording.trajectory().cameras.front().lens;
        }
        clips_.push_back({std::move(clip), recordings_.size() - 1});
      }
    }
  }

  size_t size() const override { return clips_.size(); }
  const EvalClip& clip(size_t index) const override { return clips_.at(index).clip; }
  at::Tensor read(size_t index, int64_t first, int64_t count) const override {
    LOCI_CHECK(first == 0 && count == 1, "{}: only the first frame is recorded", clip(index).name);
    return recordings_[clips_.at(index).recording].read(0, 1).frames;
  }
  at::Tensor depth(size_t index) const override {
    const world::Recording& recording = recordings_[clips_.at(index).recording];
    return recording.read_depth(recording.frame_count());
  }
  bool has_depth(size_t index) const override {
    return recordings_[clips_.at(index).recording].has_depth();
  }
  std::string identity(size_t index) const override {
    return recordings_[clips_.at(index).recording].identity();
  }

 private:
  struct Entry {
    EvalClip clip;
    size_t recording;
  };
  std::vector<world::Recording> recordings_;
  std::vector<Entry> clips_;
};

}  // namespace

std::unique_ptr<EvalClips> open_paths(const std::filesystem::path& folder, const ClipFormat& format,
                                      const std::vector<std::string>& routes, double seconds,
                                      std::optional<int64_t> count) {
  if (routes.empty()) fail("--route: expected at least one route");
  return std::make_unique<PathClips>(folder, format, routes, seconds, count);
}

const std::vector<std::string>& return_routes() {
  static const std::vector<std::string> routes = {"left-15,right-15", "right-15,left-15",
                                                  "w-15,s-15", "a-15,d-15"};
  return routes;
}

}  // namespace loci::eval
