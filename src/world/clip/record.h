// SPDX-License-Identifier: Apache-2.0
// Writes datasets of procedural clips to disk: one folder per clip, or WebDataset tar shards.
#pragma once

#include <filesystem>

#include "loci/base/config.h"
#include "loci/world/clip/clip_maker.h"

namespace loci::world {

struct RecordOptions {
  uint64_t seed = 0;
  int64_t count = 1;  // clips of the whole dataset, over all shards
  ClipOptions clip;

  enum class Video { kMp4, kLossless, kPng } video = Video::kMp4;
  enum class Depth { kNone, kHalf, kFloat } depth = Depth::kHalf;
  bool tar = false;
  int64_t clips_per_tar = 64;

  // This process writes every shards-th folder or tar file, starting with number `shard`.
  int64_t shard = 0, shards = 1;
  int workers = 1;  // rendering threads; one more thread encodes
};

RecordOptions::Video parse_video(std::string_view name);
RecordOptions::Depth parse_depth(std::string_view name);

// Writes a clip to `folder`, which must exist and be empty: video.mp4 or frames/, poses.npy (camera
// to world, [frames, 4, 4]), intrinsics.npy (pixels, pinhole only), path.json (one pose per
// latent), depth.npy, caption.txt, clip.json.
void write_clip(const std::filesystem::path& folder, const Clip& clip,
                const RecordOptions& options);

// The content of clip.json: seeds, style, captions, lens, revisits.
Json describe(const Clip& clip);

// Writes this process's part under `folder`: clips/000000/… or clips-000000.tar …, and
// manifest.json, which is the same for all parts. Existing clips are kept, so that an interrupted
// run continues. A manifest of another dataset is bad input. The bytes do not depend on shards and
// workers.
void record(const std::filesystem::path& folder, const RecordOptions& options);

}  // namespace loci::world
