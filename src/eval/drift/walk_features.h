// SPDX-License-Identifier: Apache-2.0
// Features of the frames of a walk, generated and recorded, for the Fréchet distance.
#pragma once

#include <filesystem>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/eval/drift/drift_windows.h"
#include "loci/eval/networks/networks.h"

namespace loci::eval {

// Features of the last frame of every latent frame within the windows: the output of the last
// convolution of AlexNet (256 channels, after the ReLU), averaged over the picture.
struct WalkFeatures {
  at::Tensor generated, recorded;  // float [n, 256]
  at::Tensor window;               // int64 [n]: window of each frame

  // Rows of one window; empty tensors if the walk does not have it.
  WalkFeatures in_window(int64_t index) const;

  // Writes the file atomically and creates its folder.
  void save(const std::filesystem::path& file) const;
  // A missing or damaged file is bad input.
  static WalkFeatures load(const std::filesystem::path& file);
};

class WalkFeatureCollector {
 public:
  // `alex` must outlive this object.
  WalkFeatureCollector(const model::Lpips& alex, const camera::TimeGrid& time,
                       const WindowGrid& windows)
      : alex_(&alex), time_(time), windows_(windows) {}

  // Adds the next frames of the continuation and the recorded ones, uint8 [frames, H, W, 3].
  void add(int64_t first, const at::Tensor& generated, const at::Tensor& recorded);
  WalkFeatures features() const;

 private:
  at::Tensor of(const at::Tensor& frames) const;

  const model::Lpips* alex_;
  camera::TimeGrid time_;
  WindowGrid windows_;
  std::vector<at::Tensor> generated_, recorded_;
  std::vector<int64_t> window_;
};

}  // namespace loci::eval
