// SPDX-License-Identifier: Apache-2.0
// What stands between the matrix products of a transformer block: a branch's output is gated and
// added to the residual stream, and the stream is normed for the next branch. One pass over memory
// forward and one backward; sums over tokens have an order that no number of threads changes.
#pragma once

#include <utility>

#include <ATen/core/Tensor.h>

namespace loci::kernels {

// norm(s) = (base + scale) * LN(s) + shift over the last dimension, without weights in LN.
struct NormAffine {
  // [B, F, 1, width] for each frame, base 1; or [width] for all (learnt weight and bias), base 0.
  at::Tensor scale, shift;
  double base = 1;
  double eps = 1e-6;
  at::ScalarType dtype = at::kFloat;  // of the result
};

// x [B, F*T, width], the residual stream: FP32 (FP64).
at::Tensor affine_norm(const at::Tensor& x, const NormAffine& norm);

// x + gate * y; gate [B, F, 1, width], or undefined for 1. y in the type of products, the result in
// x's.
at::Tensor gated_add(const at::Tensor& x, const at::Tensor& gate, const at::Tensor& y);

// s = gated_add(x, gate, y) and affine_norm(s).
std::pair<at::Tensor, at::Tensor> gated_add_norm(const at::Tensor& x, const at::Tensor& gate,
                                                 const at::Tensor& y, const NormAffine& norm);

// The same in libtorch's operations: for other types and devices, and for tests.
at::Tensor affine_norm_by_libtorch(const at::Tensor& x, const NormAffine& norm);
at::Tensor gated_add_by_libtorch(const at::Tensor& x, const at::Tensor& gate, const at::Tensor& y);

}  // namespace loci::kernels
