// SPDX-License-Identifier: Apache-2.0
// The operations between the matrix products of a transformer block: the output of a branch is
// gated and added to the residual stream, and the stream is normalized for the next branch. One
// pass over memory forward and one backward. Sums over tokens have the same order for any number of
// threads.
#pragma once

#include <utility>

#include <ATen/core/Tensor.h>

namespace loci::kernels {

// norm(s) = (base + scale) * LN(s) + shift over the last dimension, without weights in LN.
struct NormAffine {
  // [B, F, 1, width], one vector per frame, with base 1; or [width] (learned weight and bias) with
  // base 0.
  at::Tensor scale, shift;
  double base = 1;
  double eps = 1e-6;
  at::ScalarType dtype = at::kFloat;  // type of the result
};

// x [B, F*T, width] is the residual stream, in FP32 or FP64.
at::Tensor affine_norm(const at::Tensor& x, const NormAffine& norm);

// x + gate * y. gate [B, F, 1, width]; undefined means 1. y has the type of the matrix products,
// the result has the type of x.
at::Tensor gated_add(const at::Tensor& x, const at::Tensor& gate, const at::Tensor& y);

// Returns s = gated_add(x, gate, y) and affine_norm(s).
std::pair<at::Tensor, at::Tensor> gated_add_norm(const at::Tensor& x, const at::Tensor& gate,
                                                 const at::Tensor& y, const NormAffine& norm);

// The same with libtorch's operators: the fallback for other types and devices, and the reference
// of the tests.
at::Tensor affine_norm_by_libtorch(const at::Tensor& x, const NormAffine& norm);
at::Tensor gated_add_by_libtorch(const at::Tensor& x, const at::Tensor& gate, const at::Tensor& y);

}  // namespace loci::kernels
