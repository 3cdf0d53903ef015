// SPDX-License-Identifier: Apache-2.0
#include "loci/world/clip/sheet.h"

#include <ATen/ATen.h>

#include "loci/base/progress.h"
#include "loci/world/recording/contact_sheet.h"

namespace loci::world {

at::Tensor scene_sheet(uint64_t seed, int64_t count, int columns, const ClipOptions& options) {
  ClipOptions one = options;
  one.frames = 1;
  ClipMaker maker(one);
  Progress progress("preview", static_cast<uint64_t>(count), "scenes");
  std::vector<at::Tensor> pictures;
  for (int64_t i = 0; i < count; ++i) {
    pictures.push_back(maker.make(seed, i * one.clips_per_scene).frames[0]);
    progress.advance();
  }
  return tile_pictures(pictures, columns);
}

at::Tensor clip_sheet(uint64_t seed, int64_t count, int columns, const ClipOptions& options) {
  ClipMaker maker(options);
  Progress progress("preview", static_cast<uint64_t>(count), "clips");
  std::vector<at::Tensor> pictures;
  for (int64_t i = 0; i < count; ++i) {
    const Clip clip = maker.make(seed, i);
    for (int k = 0; k < columns; ++k) {
      pictures.push_back(clip.frames[columns == 1 ? 0 : (options.frames - 1) * k / (columns - 1)]);
    }
    progress.advance();
  }
  return tile_pictures(pictures, columns);
}

}  // namespace loci::world
