// SPDX-License-Identifier: Apache-2.0
// Error of a frame within a region.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/model/perceptual/lpips.h"

namespace loci::eval {

struct MaskedError {
  double region = 0;  // share of the frame that the mask covers
  double psnr = 0;    // dB; 120 for identical regions, NaN for an empty mask
  double lpips = 0;   // NaN without weights or for an empty mask
};

// `generated` and `truth` are uint8 [1, H, W, 3], `mask` is bool [H, W]. LPIPS is the mean of its
// distance map within the mask; `lpips` may be null.
MaskedError masked_error(const at::Tensor& generated, const at::Tensor& truth,
                         const at::Tensor& mask, const model::Lpips* lpips);

}  // namespace loci::eval
