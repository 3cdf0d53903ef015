// SPDX-License-Identifier: Apache-2.0
// Writes clips to disk: a folder per clip, or WebDataset tar shards.
#pragma once

#include <filesystem>

#include "loci/base/config.h"
#include "loci/world/clip/clip_maker.h"

namespace loci::world {

struct RecordOptions {
  uint64_t seed = 0;
  int64_t count = 1;  // clips of the whole dataset, whoever records them
  ClipOptions clip;

  enum class Video { kMp4, kLossless, kPng } video = Video::kMp4;
  enum class Depth { kNone, kHalf, kFloat } depth = Depth::kHalf;
  bool tar = false;
  int64_t clips_per_tar = 64;

  // This process records every shards-th folder or tar file, starting with number `shard`.
  int64_t shard = 0, shards = 1;
  int workers = 1;  // threads that render while another encodes
};

RecordOptions::Video parse_video(std::string_view name);
RecordOptions::Depth parse_depth(std::string_view name);

// A clip in `folder`, which must be there and empty: video.mp4 or frames/, poses.npy (camera to
// world, [frames, 4, 4]), intrinsics.npy (pixels, pinhole only), path.json (one pose per latent),
// depth.npy, caption.txt, clip.json.
void write_clip(const std::filesystem::path& folder, const Clip& clip,
                const RecordOptions& options);

// What clip.json says: seeds, style, captions, lens, revisits.
Json describe(const Clip& clip);

// Records this process's part under `folder`: clips/000000/… or clips-000000.tar …, and
// manifest.json, which every part writes alike. What is there already is kept, so an interrupted
// recording goes on; a manifest of another dataset is bad input. The bytes do not depend on how the
// work is divided.
void record(const std::filesystem::path& folder, const RecordOptions& options);

}  // namespace loci::world
