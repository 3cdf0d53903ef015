// SPDX-License-Identifier: Apache-2.0
// Small recordings for tests, in the format of the tiny model folder.
#pragma once

#include <cmath>
#include <filesystem>

#include <ATen/ATen.h>

#include "loci/io/media/frames.h"
#include "loci/io/tensors/npy.h"

#include "tests/sample/tiny_folder.h"

namespace loci::eval {

using testing::kTinyHeight;
using testing::kTinyWidth;
using testing::make_tiny_folder;

// Frames of a moving pattern. The camera of make_tiny_recording() does not move and makes a full
// turn in ten seconds.
inline at::Tensor tiny_frames(int64_t frames, int64_t seed) {
  at::manual_seed(static_cast<uint64_t>(seed));
  const at::Tensor wide = at::randint(0, 256, {kTinyHeight, kTinyWidth + frames, 3}, at::kByte);
  std::vector<at::Tensor> list;
  for (int64_t i = 0; i < frames; ++i) list.push_back(wide.narrow(1, i, kTinyWidth));
  return at::stack(list).contiguous();
}

inline void make_tiny_recording(const std::filesystem::path& folder, int64_t frames, int64_t seed) {
  std::filesystem::create_directories(folder);
  io::VideoOptions lossless;
  lossless.lossless = true;
  io::write_video(folder / "video.mp4", tiny_frames(frames, seed), lossless);
  at::Tensor poses = at::eye(4, at::kDouble).repeat({frames, 1, 1});
  for (int64_t i = 0; i < frames; ++i) {
    const double yaw = 2 * M_PI * static_cast<double>(i) / 160;
    poses[i][0][0] = poses[i][2][2] = std::cos(yaw);
    poses[i][0][2] = std::sin(yaw);
    poses[i][2][0] = -std::sin(yaw);
  }
  io::write_npy(folder / "poses.npy", poses);
}

}  // namespace loci::eval
