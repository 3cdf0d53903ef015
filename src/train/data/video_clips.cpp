// SPDX-License-Identifier: Apache-2.0
#include "loci/train/data/video_clips.h"

#include <algorithm>
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

class SceneClips : public VideoClips {
 public:
  SceneClips(const VideoClipsConfig& config, ClipSplit split, uint64_t seed, int rank, int ranks)
      : seed_(seed) {
    loading_.workers = static_cast<int>(config.workers);
    loading_.rank = rank;
    loading_.ranks = ranks;
    options_.width = static_cast<int>(config.width);
    options_.height = static_cast<int>(config.height);
    options_.split = split == ClipSplit::kTraining ? world::Split::kTrain : world::Split::kTest;
    options_.clips_per_scene = kClipsPerScene;
  }

  world::Clip clip(uint64_t number, int64_t frames) override {
    // Numbers ascend by one, except at the start of a run and when the clip length changes.
    const auto position = static_cast<int64_t>(number);
    if (!loader_ || options_.frames != frames || loader_->position() != position) {
      options_.frames = frames;
      loader_.reset();
      loading_.start = position;
      loader_ = world::load_scene_clips(seed_, options_, loading_);
    }
    return loader_->next();
  }

 private:
  world::ClipOptions options_;
  world::LoaderOptions loading_;
  std::unique_ptr<world::ClipLoader> loader_;
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

class FolderClips : public VideoClips {
 public:
  FolderClips(const VideoClipsConfig& config, ClipSplit split, uint64_t seed, int rank, int ranks)
      : config_(config), seed_(seed), rank_(rank), ranks_(ranks) {
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

  world::Clip clip(uint64_t number, int64_t frames) override {
    const uint64_t index = number * static_cast<uint64_t>(ranks_) + static_cast<uint64_t>(rank_);
    Random random{seed_, index, 0x766964656f};  // another sequence than that of random crops
    // If a video is too short, the next one is tried.
    size_t at = random.below(videos_.size());
    for (size_t tries = 0; tries < videos_.size(); ++tries, at = (at + 1) % videos_.size()) {
      const std::unique_ptr<io::FrameSource> source = io::FrameSource::open(videos_[at]);
      if (source->frame_count() < frames) continue;
      source->seek(random.between(0, source->frame_count() - frames));
      world::Clip clip;
      clip.frames = read(*source, videos_[at], frames);
      return clip;
    }
    fail("no video in {} has {} frames; lower phases[].frames or validation.frames", config_.folder,
         frames);
  }

 private:
  at::Tensor read(io::FrameSource& source, const fs::path& path, int64_t count) {
    std::vector<at::Tensor> frames;
    while (static_cast<int64_t>(frames.size()) < count) {
      const std::optional<at::Tensor> frame = source.next();
      if (!frame)
        fail("{} ends before the {} frames that its header declares", path.string(),
             source.frame_count());
      const io::FittedImage fitted = io::resize_and_crop(*frame, config_.width, config_.height);
      if (!fitted.note.empty() && !reported_) {
        log_info("{}: {}; further videos are resized without a message", path.filename().string(),
                 fitted.note);
        reported_ = true;
      }
      frames.push_back(fitted.image);
    }
    return at::stack(frames);
  }

  VideoClipsConfig config_;
  uint64_t seed_;
  int rank_, ranks_;
  std::vector<fs::path> videos_;
  bool reported_ = false;
};

}  // namespace

VideoClipsConfig VideoClipsConfig::from(const ConfigReader& reader) {
  VideoClipsConfig config;
  config.folder = reader.get<std::string>("folder", config.folder);
  config.width = reader.get<int64_t>("width", config.width, 8, 8192);
  config.height = reader.get<int64_t>("height", config.height, 8, 8192);
  config.workers = reader.get<int64_t>("workers", config.workers, 0, 256);
  return config;
}

std::unique_ptr<VideoClips> open_video_clips(const VideoClipsConfig& config, ClipSplit split,
                                             uint64_t seed, int rank, int ranks) {
  if (config.folder.empty()) return std::make_unique<SceneClips>(config, split, seed, rank, ranks);
  return std::make_unique<FolderClips>(config, split, seed, rank, ranks);
}

}  // namespace loci::train
