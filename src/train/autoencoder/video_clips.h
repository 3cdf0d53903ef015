// SPDX-License-Identifier: Apache-2.0
// Short clips to train an autoencoder on: from procedural worlds, or from a folder of videos.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "loci/base/config.h"
#include "loci/world/clip/clip_maker.h"

namespace loci::train {

struct VideoClipsConfig {
  std::string folder;  // of videos and image folders; empty: procedural worlds
  int64_t width = 192, height = 128;
  // Threads that render worlds ahead of the training; 0 renders a clip when it is asked for. The
  // clips are the same.
  int64_t workers = 1;

  static VideoClipsConfig from(const ConfigReader& reader);
};

// Clips by number; the same number and length give the same clip on every machine. Of several ranks
// each counts its own.
class VideoClips {
 public:
  virtual ~VideoClips() = default;

  // Numbers in rising order are made fastest. Of a folder's videos only the frames are known;
  // worlds give their cameras and captions, too.
  virtual world::Clip clip(uint64_t number, int64_t frames) = 0;
};

enum class ClipSplit { kTraining, kValidation };

// Of a folder, one video in sixteen is kept for validation (one at least, unless there is only
// one, which then serves both); of worlds, those that the world layer sets aside for tests.
std::unique_ptr<VideoClips> open_video_clips(const VideoClipsConfig& config, ClipSplit split,
                                             uint64_t seed, int rank = 0, int ranks = 1);

}  // namespace loci::train
