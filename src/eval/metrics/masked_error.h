// SPDX-License-Identifier: Apache-2.0
// The error of a frame over a part of it.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/eval/networks/lpips.h"

namespace loci::eval {

struct MaskedError {
  double region = 0;  // share of the frame
  double psnr = 0;    // dB, 120 for identical ones; not a number without a region
  double lpips = 0;   // not a number without weights or region
};

// `made` and `truth` uint8 [1, H, W, 3], `mask` bool [H, W]. LPIPS is the mean of its map there;
// `lpips` may be null.
MaskedError masked_error(const at::Tensor& made, const at::Tensor& truth, const at::Tensor& mask,
                         const Lpips* lpips);

}  // namespace loci::eval
