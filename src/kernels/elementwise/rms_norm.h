// SPDX-License-Identifier: Apache-2.0
// RMS norm over all heads of queries or keys, and the norm with the map of heads that follows it
// (rotary encoding): one pass over memory forward and one backward.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/kernels/elementwise/head_map.h"

namespace loci::kernels {

// x / rms(x) * weight over the last dimension, computed in FP32 (FP64 for FP64), given in x's type.
// weight [width]. Differentiable; the gradient of weight is summed in an order that no number of
// threads changes.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

struct NormedHeads {
  at::Tensor norm;    // [B, N, H, D], undefined unless wanted
  at::Tensor turned;  // head_map(norm, map)
};

// x [B, N, H*D] → heads of D channels.
NormedHeads rms_norm_heads(const at::Tensor& x, const at::Tensor& weight, double eps, int64_t heads,
                           const HeadMap& map, bool want_norm);

// The same in libtorch's operations: for other types and devices, and for tests.
at::Tensor rms_norm_by_libtorch(const at::Tensor& x, const at::Tensor& weight, double eps);

}  // namespace loci::kernels
