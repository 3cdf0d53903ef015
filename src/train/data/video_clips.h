// SPDX-License-Identifier: Apache-2.0
// Clips to train an autoencoder on: from procedural scenes or from a folder of videos.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "loci/base/config.h"
#include "loci/world/clip/clip_maker.h"

namespace loci::train {

struct VideoClipsConfig {
  std::string folder;  // of videos and image sequences; empty: procedural scenes
  int64_t width = 192, height = 128;
  // Number of threads that render or decode clips in advance; 0: a clip is made when it is needed.
  // The number does not change the clips.
  int64_t workers = 1;
  // Of procedural scenes. By default, clips have every style, time of day and weather.
  world::SceneOptions scene;
  double fps = 16;  // frames per second; the camera moves less per frame at a higher rate
  double fov = 75;  // horizontal field of view, degrees
  // Instead of those of the scene's style: metres per second, degrees per second.
  std::optional<double> speed, turn_rate;

  static VideoClipsConfig from(const ConfigReader& reader);
};

// Clips by number. The same number and length give the same clip on every machine. Each rank
// numbers its own clips from 0.
class VideoClips {
 public:
  virtual ~VideoClips() = default;

  // Ascending numbers are fastest. Clips of a video folder have frames only; clips of scenes have
  // cameras and captions, too.
  virtual world::Clip clip(uint64_t number, int64_t frames) = 0;
};

enum class ClipSplit { kTraining, kValidation };

// One video in sixteen of a folder is used for validation; a single video is used for both. Scenes
// for validation are those of the world layer's test split.
std::unique_ptr<VideoClips> open_video_clips(const VideoClipsConfig& config, ClipSplit split,
                                             uint64_t seed, int rank = 0, int ranks = 1);

}  // namespace loci::train
