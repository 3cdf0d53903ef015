// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/path_clips.h"

#include <algorithm>
#include <cmath>

#include "loci/base/choice.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/text.h"
#include "loci/camera/lens.h"
#include "loci/camera/path/presets.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/io/media/frames.h"
#include "loci/io/media/image.h"
#include "loci/io/media/resize.h"

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

constexpr uint64_t kCaptionLimit = 1 << 16;  // bytes

// The pictures in `folder`, by name. Empty if it also contains videos or folders.
std::vector<std::filesystem::path> start_pictures(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> pictures;
  if (!std::filesystem::is_directory(folder)) return pictures;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with('.')) continue;
    if (entry.is_directory() || io::is_video_name(entry.path())) return {};
    if (io::is_image_name(entry.path())) pictures.push_back(entry.path());
  }
  std::sort(pictures.begin(), pictures.end());
  return pictures;
}

std::vector<std::string> expanded(const std::vector<std::string>& routes) {
  std::vector<std::string> all;
  for (const std::string& route : routes) {
    if (route != kSetC) {
      all.push_back(route);
      continue;
    }
    for (const char* name : {"static", "straight", "spin", "look_around", "look_around_pitch",
                             "forward_back", "square"}) {
      all.emplace_back(name);
    }
  }
  return all;
}

class PathClips : public EvalClips {
 public:
  PathClips(const std::filesystem::path& folder, const ClipFormat& format,
            const std::vector<std::string>& routes, double seconds, std::optional<int64_t> count)
      : EvalClips(format) {
    const std::vector<std::string> all = expanded(routes);
    for (const std::filesystem::path& picture : start_pictures(folder)) {
      if (count && std::ssize(starts_) >= *count) break;
      Start& start = starts_.emplace_back();
      start.picture = picture;
      std::filesystem::path caption = picture;
      caption.replace_extension(".txt");
      const std::string text = std::filesystem::exists(caption)
                                   ? std::string(trim(read_file(caption, kCaptionLimit)))
                                   : std::string();
      for (const std::string& route : all) {
        if (route == kRecordedRoute) fail("--route recorded: {} is a picture", picture.string());
        add(picture.stem().string(), text, route, read_route(route, format, seconds),
            camera::lens_from_fov(camera::radians(format.fov)));
      }
    }
    if (!starts_.empty()) return;
    const world::RecordingOptions options = recording_options(format);
    for (world::RecordingFiles& files : world::find_recordings(folder)) {
      if (count && std::ssize(starts_) >= *count) break;
      Start& start = starts_.emplace_back();
      start.recording.emplace(std::move(files), options);
      const world::Recording& recording = *start.recording;
      for (const std::string& route : all) {
        add(recording.name(), recording.caption(), route,
            route == kRecordedRoute ? recorded_route(recording, format, seconds)
                                    : read_route(route, format, seconds),
            recording.trajectory().cameras.front().lens);
      }
    }
  }

  size_t size() const override { return clips_.size(); }
  const EvalClip& clip(size_t index) const override { return clips_.at(index).clip; }
  at::Tensor read(size_t index, int64_t first, int64_t count) const override {
    LOCI_CHECK(first == 0 && count == 1, "{}: only the first frame is recorded", clip(index).name);
    const Start& start = start_of(index);
    if (start.recording) return start.recording->read(0, 1).frames;
    const at::Tensor picture = io::read_image(start.picture);
    return io::resize_and_crop(picture, format().width, format().height).image.unsqueeze(0);
  }
  at::Tensor depth(size_t index) const override {
    const std::optional<world::Recording>& recording = start_of(index).recording;
    return recording ? recording->read_depth(recording->frame_count()) : at::Tensor();
  }
  bool has_depth(size_t index) const override {
    const std::optional<world::Recording>& recording = start_of(index).recording;
    return recording && recording->has_depth();
  }
  std::string identity(size_t index) const override {
    const Start& start = start_of(index);
    if (start.recording) return start.recording->identity();
    const std::filesystem::path file = std::filesystem::canonical(start.picture);
    return fmt::format("{} {} {}", file.string(), std::filesystem::file_size(file),
                       std::filesystem::last_write_time(file).time_since_epoch().count());
  }

 private:
  struct Start {
    std::optional<world::Recording> recording;
    std::filesystem::path picture;  // without a recording
  };
  struct Entry {
    EvalClip clip;
    size_t start;
  };

  const Start& start_of(size_t clip) const { return starts_[clips_.at(clip).start]; }

  // Adds a clip that begins at the last start.
  void add(const std::string& name, const std::string& caption, const std::string& route,
           camera::Trajectory path, const camera::Lens& lens) {
    EvalClip clip;
    clip.name = name + ", " + route;
    clip.caption = caption;
    clip.clock = format().fps;
    clip.trajectory = std::move(path);
    std::vector<camera::Camera>& cameras = clip.trajectory.cameras;
    const camera::TimeGrid& grid = format().grid;
    const int64_t last_chunk = grid.chunk_of_frame(std::max<int64_t>(2, std::ssize(cameras)) - 1);
    const camera::Camera last = cameras.back();
    cameras.resize(static_cast<size_t>(grid.frames_of_chunk(last_chunk).end), last);
    for (camera::Camera& camera : cameras) camera.lens = lens;
    clips_.push_back({std::move(clip), starts_.size() - 1});
  }

  std::vector<Start> starts_;
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
