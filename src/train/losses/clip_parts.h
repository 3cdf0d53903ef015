// SPDX-License-Identifier: Apache-2.0
// Random frames and crops of clips, for losses that are too expensive for every pixel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::train {

struct ClipPartsConfig {
  int64_t stack = 1;   // consecutive frames that form one picture
  int64_t number = 0;  // pictures per clip; 0: as many as fit without overlap
  int64_t crop = 0;    // side of the square crop in pixels; 0: whole frames
};

// A choice of pictures from a batch of clips [B, 3, T, H, W]. Clips must have at least `stack`
// frames.
class ClipParts {
 public:
  // `sizes` are those of the batch. Key i determines the pictures of clip i.
  ClipParts(const ClipPartsConfig& config, at::IntArrayRef sizes, std::span<const uint64_t> keys);

  // The pictures [B * number, 3 * stack, h, w] of a batch of that size, the same places for every
  // batch. Differentiable.
  at::Tensor of(const at::Tensor& clips) const;

 private:
  struct Place {
    std::vector<int64_t> frames;  // of all pictures, in stacks
    int64_t top = 0, left = 0;
  };
  int64_t stack_, height_, width_;
  std::vector<Place> places_;  // per clip
};

}  // namespace loci::train
