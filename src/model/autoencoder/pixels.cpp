// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/pixels.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::model {

at::Tensor pixels_from_frames(const at::Tensor& frames) {
  LOCI_CHECK(frames.scalar_type() == at::kByte && (frames.dim() == 3 || frames.dim() == 4),
             "expected uint8 [T, H, W, 3], got {} with {} dimensions",
             at::toString(frames.scalar_type()), frames.dim());
  const at::Tensor clip = frames.dim() == 3 ? frames.unsqueeze(0) : frames;
  if (clip.size(-1) != 3) fail("an image has {} channels; expected 3 (RGB)", clip.size(-1));
  return clip.permute({3, 0, 1, 2}).unsqueeze(0).to(at::kFloat).div(127.5).sub(1);
}

at::Tensor frames_from_pixels(const at::Tensor& pixels) {
  LOCI_CHECK(pixels.dim() == 5 && pixels.size(0) == 1 && pixels.size(1) == 3,
             "expected pixels [1, 3, T, H, W]");
  return pixels[0]
      .permute({1, 2, 3, 0})
      .to(at::kFloat)
      .add(1)
      .mul(127.5)
      .round()
      .clamp(0, 255)
      .to(at::kByte)
      .contiguous();
}

}  // namespace loci::model
