// SPDX-License-Identifier: Apache-2.0
// A training sample of the transformer: a window of latents with its cameras and caption.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/camera.h"

namespace loci::train {

struct Window {
  at::Tensor latents;                   // [C, F, h, w], normalised; frame 0 is the latent of an image
  std::vector<camera::Camera> cameras;  // one per latent frame, in any frame of reference
  std::string caption;
};

// A source of windows. A window depends on its index and length only, so that ranks and resumed runs
// get the same windows.
class WindowSource {
 public:
  virtual ~WindowSource() = default;
  virtual Window window(uint64_t index, int64_t frames) const = 0;
  // All captions, sorted, without duplicates.
  virtual std::vector<std::string> captions() const = 0;
};

}  // namespace loci::train
