// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <vector>

#include <ATen/ATen.h>

#include "loci/io/media/frames.h"

namespace loci::io {

// The first `limit` frames of a video or folder, [frames, height, width, 3].
inline at::Tensor read_frames(const std::filesystem::path& path,
                              int64_t limit = std::numeric_limits<int64_t>::max()) {
  const std::unique_ptr<FrameSource> source = FrameSource::open(path);
  std::vector<at::Tensor> frames;
  const int64_t count = std::min(limit, source->frame_count());
  for (int64_t i = 0; i < count; ++i) frames.push_back(source->next().value());
  return at::stack(frames);
}

}  // namespace loci::io
