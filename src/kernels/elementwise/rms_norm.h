// SPDX-License-Identifier: Apache-2.0
// RMS norm over all heads of queries or keys, and the norm fused with the head map that follows it
// (rotary encoding). One pass over memory forward and one backward.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/kernels/elementwise/head_map.h"

namespace loci::kernels {

// x / rms(x) * weight over the last dimension. weight [width]. Computes in FP32 (FP64 for FP64
// input) and returns the type of x. Differentiable; the gradient of weight is summed in the same
// order for any number of threads.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

struct NormedHeads {
  at::Tensor norm;    // [B, N, H, D]; undefined unless requested
  at::Tensor mapped;  // head_map(norm, map)
};

// x [B, N, H*D] → heads of D channels.
NormedHeads rms_norm_heads(const at::Tensor& x, const at::Tensor& weight, double eps, int64_t heads,
                           const HeadMap& map, bool want_norm);

// The same with libtorch's operators: the fallback for other types and devices, and the reference
// of the tests.
at::Tensor rms_norm_by_libtorch(const at::Tensor& x, const at::Tensor& weight, double eps);

}  // namespace loci::kernels
