// SPDX-License-Identifier: Apache-2.0
#include "loci/train/data/video_clips.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <vector>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/log.h"
#include "loci/base/random.h"
#include "loci/io/media/frames.h"
#include "loci/io/media/resize.h"
#include "loci/world/clip/clip_maker.h"

namespace loci::train {

namespace fs = std::filesystem;

namespace {

// Creating a scene takes as long as rendering 25 of its frames, so several clips share one.
constexpr int64_t kClipsPerScene = 4;

// A walk begins at rest, so a short clip from its beginning would hardly move. Clips are random
// parts of walks of this length.
constexpr double kWalkSeconds = 8;

// Clips of one length after the other from worker threads.
class LoadedClips : public VideoClips {
 public:
  LoadedClips(const VideoClipsConfig& config, int rank, int ranks) {
    options_.workers = static_cast<int>(config.workers);
    options_.rank = rank;
    options_.ranks = ranks;
  }

  world::Clip clip(uint64_t number, int64_t frames) override {
    // Numbers ascend by one, except at the start of a run and when the clip length changes.
    const auto position = static_cast<int64_t>(number);
    if (!loader_ || frames_ != frames || loader_->position() != position) {
      loader_.reset();
      frames_ = frames;
      options_.start = position;
      loader_ = load(frames, options_);
    }
    return loader_->next();
  }

 protected:
  // A loader of clips of this length. It may refer to members until stop().
  virtual std::unique_ptr<world::ClipLoader> load(int64_t frames, world::LoaderOptions options) = 0;
  // Ends the worker threads. Call it in the destructor of a class whose members they use.
  void stop() { loader_.reset(); }

 private:
  world::LoaderOptions options_;
  int64_t frames_ = 0;
  std::unique_ptr<world::ClipLoader> loader_;
};

// Parts of walks through scenes. One per worker thread.
class WalkSource : public world::ClipSource {
 public:
  // `walk.frames` is the length of the walk, `frames` that of the part.
  WalkSource(uint64_t seed, const world::ClipOptions& walk, int64_t frames)
      : seed_(seed), frames_(frames), maker_(walk) {}

  world::Clip make(int64_t index) override {
    const std::vector<camera::Pose> walk = maker_.plan_trajectory(seed_, index).poses;
    Random random{seed_, static_cast<uint64_t>(index), 0x77616c6b};
    const int64_t start = random.between(0, std::ssize(walk) - frames_);
    return maker_.make(
        seed_, index,
        std::span(walk).subspan(static_cast<size_t>(start), static_cast<size_t>(frames_)));
  }

 private:
  uint64_t seed_;
  int64_t frames_;
  world::ClipMaker maker_;
};

class SceneClips : public LoadedClips {
 public:
  SceneClips(const VideoClipsConfig& config, ClipSplit split, uint64_t seed, int rank, int ranks)
      : LoadedClips(config, rank, ranks), seed_(seed) {
    walk_.width = static_cast<int>(config.width);
    walk_.height = static_cast<int>(config.height);
    walk_.scene = config.scene;
    walk_.fps = config.fps;
    walk_.fov = config.fov;
    walk_.speed = config.speed;
    walk_.turn_rate = config.turn_rate;
    walk_.split = split == ClipSplit::kTraining ? world::Split::kTrain : world::Split::kTest;
    walk_.clips_per_scene = kClipsPerScene;
  }

 private:
  std::unique_ptr<world::ClipLoader> load(int64_t frames, world::LoaderOptions options) override {
    options.group = walk_.clips_per_scene;
    world::ClipOptions walk = walk_;
    walk.frames = std::max<int64_t>(frames, std::llround(kWalkSeconds * walk.fps));
    return std::make_unique<world::ClipLoader>(
        [&] { return std::make_unique<WalkSource>(seed_, walk, frames); }, options);
  }

  world::ClipOptions walk_;
  uint64_t seed_;
};

// Video files at any depth, and folders with numbered images.
std::vector<fs::path> find_videos(const fs::path& folder) {
  if (!fs::is_directory(folder)) fail("{} is not a folder of videos", folder.string());
  std::vector<fs::path> found;
  for (auto at = fs::recursive_directory_iterator(folder); at != fs::recursive_directory_iterator();
       ++at) {
    const fs::directory_entry& entry = *at;
    // Hidden entries are temporary files of a running or killed process.
    if (entry.path().filename().string().starts_with('.')) {
      at.disable_recursion_pending();
      continue;
    }
    if (entry.is_regular_file() && io::is_video_name(entry.path())) found.push_back(entry.path());
    if (entry.is_directory() && fs::exists(entry.path() / "00000.png")) {
      found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The videos of a folder as clips of one length. One per worker thread.
class VideoSource : public world::ClipSource {
 public:
  // `reported`: whether a message about resizing has been shown; shared by all workers.
  VideoSource(const VideoClipsConfig& config, const std::vector<fs::path>& videos, uint64_t seed,
              int64_t frames, std::atomic<bool>& reported)
      : config_(config), videos_(videos), seed_(seed), frames_(frames), reported_(reported) {}

  world::Clip make(int64_t index) override {
    // Another sequence than that of random crops.
    Random random{seed_, static_cast<uint64_t>(index), 0x766964656f};
    // If a video is too short, the next one is tried.
    size_t at = random.below(videos_.size());
    for (size_t tries = 0; tries < videos_.size(); ++tries, at = (at + 1) % videos_.size()) {
      const std::unique_ptr<io::FrameSource> source = io::FrameSource::open(videos_[at]);
      if (source->frame_count() < frames_) continue;
      source->seek(random.between(0, source->frame_count() - frames_));
      world::Clip clip;
      clip.frames = read(*source, videos_[at]);
      return clip;
    }
    fail("no video in {} has {} frames; lower phases[].frames or validation.frames", config_.folder,
         frames_);
  }

 private:
  at::Tensor read(io::FrameSource& source, const fs::path& path) const {
    std::vector<at::Tensor> frames;
    while (static_cast<int64_t>(frames.size()) < frames_) {
      const std::optional<at::Tensor> frame = source.next();
      if (!frame)
        fail("{} ends before the {} frames that its header declares", path.string(),
             source.frame_count());
      const io::FittedImage fitted = io::resize_and_crop(*frame, config_.width, config_.height);
      if (!fitted.note.empty() && !reported_.exchange(true)) {
        log_info("{}: {}; further videos are resized without a message", path.filename().string(),
                 fitted.note);
      }
      frames.push_back(fitted.image);
    }
    return at::stack(frames);
  }

  const VideoClipsConfig& config_;
  const std::vector<fs::path>& videos_;
  uint64_t seed_;
  int64_t frames_;
  std::atomic<bool>& reported_;
};

class FolderClips : public LoadedClips {
 public:
  FolderClips(const VideoClipsConfig& config, ClipSplit split, uint64_t seed, int rank, int ranks)
      : LoadedClips(config, rank, ranks), config_(config), seed_(seed) {
    const std::vector<fs::path> all = find_videos(config.folder);
    for (size_t i = 0; i < all.size(); ++i) {
      const bool validation = i % 16 == 0;
      if (all.size() == 1 || validation == (split == ClipSplit::kValidation))
        videos_.push_back(all[i]);
    }
    if (videos_.empty()) {
      fail(
          "{} contains no video (.mp4, .mov, .mkv, .webm, .avi, .m4v) and no folder of numbered "
          "images",
          config.folder);
    }
  }
  ~FolderClips() override { stop(); }

 private:
  std::unique_ptr<world::ClipLoader> load(int64_t frames, world::LoaderOptions options) override {
    return std::make_unique<world::ClipLoader>(
        [&] { return std::make_unique<VideoSource>(config_, videos_, seed_, frames, reported_); },
        options);
  }

  VideoClipsConfig config_;
  uint64_t seed_;
  std::vector<fs::path> videos_;
  std::atomic<bool> reported_ = false;
};

}  // namespace

VideoClipsConfig VideoClipsConfig::from(const ConfigReader& reader) {
  VideoClipsConfig config;
  config.folder = reader.get<std::string>("folder", config.folder);
  config.width = reader.get<int64_t>("width", config.width, 8, 8192);
  config.height = reader.get<int64_t>("height", config.height, 8, 8192);
  config.workers = reader.get<int64_t>("workers", config.workers, 0, 256);
  reader.ignore({"style", "time", "weather"});  // known even when absent
  if (reader.has("style"))
    config.scene.style = world::parse_style(reader.get<std::string>("style"));
  if (reader.has("time")) config.scene.time = world::parse_time(reader.get<std::string>("time"));
  if (reader.has("weather")) {
    config.scene.weather = world::parse_weather(reader.get<std::string>("weather"));
  }
  config.fps = reader.get<double>("fps", config.fps, 1.0, 240.0);
  config.fov = reader.get<double>("fov", config.fov, 10.0, 150.0);
  reader.ignore({"speed", "turn_rate"});
  if (reader.has("speed")) config.speed = reader.get<double>("speed", 1, 0.05, 20);
  if (reader.has("turn_rate")) config.turn_rate = reader.get<double>("turn_rate", 1, 1, 360);
  for (const char* key : {"style", "time", "weather", "fps", "fov", "speed", "turn_rate"}) {
    if (!config.folder.empty() && reader.has(key)) {
      fail("{}: {} is a property of procedural scenes; remove it or folder", reader.where(), key);
    }
  }
  return config;
}

std::unique_ptr<VideoClips> open_video_clips(const VideoClipsConfig& config, ClipSplit split,
                                             uint64_t seed, int rank, int ranks) {
  if (config.folder.empty()) return std::make_unique<SceneClips>(config, split, seed, rank, ranks);
  return std::make_unique<FolderClips>(config, split, seed, rank, ranks);
}

}  // namespace loci::train
