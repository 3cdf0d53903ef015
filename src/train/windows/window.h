// SPDX-License-Identifier: Apache-2.0
// A training sample: a window of latents with its cameras and its caption.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/camera.h"

namespace loci::train {

struct Window {
  at::Tensor latents;                   // [C, F, h, w], model space; frame 0 is an image's latent
  std::vector<camera::Camera> cameras;  // one per latent frame, in any world
  std::string caption;
};

// Where windows come from. Window `index` is the same whoever asks, in whatever order: ranks and
// resumed runs need no other agreement.
class WindowSource {
 public:
  virtual ~WindowSource() = default;
  virtual Window window(uint64_t index, int64_t frames) const = 0;
  // Captions that windows may have, each once, sorted.
  virtual std::vector<std::string> captions() const = 0;
};

}  // namespace loci::train
