// SPDX-License-Identifier: Apache-2.0
// Linear layers for inference. The weight is packed once in BF16, INT8 or INT4, in the layout that
// the loops read. The epilogue is applied while the results are in cache.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "loci/kernels/linear/quantized_weight.h"

namespace loci::kernels {

// Applied to y = x W^T + bias: GELU (tanh approximation), then residual + gate * (y + addend).
struct LinearEpilogue {
  bool gelu = false;
  at::Tensor addend;    // [..., out], same shape as y; may be undefined
  at::Tensor residual;  // [..., out], same shape as y; may be undefined
  at::Tensor gate;      // [B, F, 1, out], one per frame, for x [B, F * T, in]; undefined: 1
};

class PackedLinear {
 public:
  // bias [out], or undefined. Copies the weight and does not refer to it afterwards.
  PackedLinear(const QuantizedWeight& weight, const at::Tensor& bias);

  // x [..., in] → [..., out] in the type of x, or of the residual if there is one. BF16 and INT4
  // weights are multiplied in FP32. For INT8 weights, each row of x is quantized to INT8 with a
  // scale from its largest magnitude; a row that is not finite becomes NaN. Results are bitwise
  // equal for any number of threads. Differentiable in x, addend, residual and gate, with
  // libtorch's operators.
  at::Tensor operator()(const at::Tensor& x, const LinearEpilogue& epilogue = {}) const;

  // The dequantized weight [out, in] in FP32, unpacked from the layout.
  at::Tensor weight() const;
  // The packed weight. The layout is the same on every machine.
  const at::Tensor& panels() const { return layout_.panels; }
  const at::Tensor& bias() const { return bias_; }
  WeightFormat format() const { return format_; }
  int64_t in() const { return in_; }
  int64_t out() const { return out_; }

 private:
  // The weight in the layout of packed_linear_kernel.h.
  struct Layout {
    at::Tensor panels;
    at::Tensor scale;       // FP32: INT8 [panels, 1, 32], INT4 [panels, groups, 32]
    at::Tensor column_sum;  // INT8: INT32 [panels * 32]
  };
  static Layout lay_out(const QuantizedWeight& weight);
  at::Tensor by_kernel(const at::Tensor& x, const LinearEpilogue& epilogue) const;

  WeightFormat format_;
  int64_t in_, out_;
  Layout layout_;
  at::Tensor bias_;  // FP32 [out], or undefined
};

// Applies the epilogue to y [..., out]. The result has the type of y, or of the residual if there
// is one.
at::Tensor apply_epilogue(at::Tensor y, const LinearEpilogue& epilogue);

// The same with libtorch's operators and a dequantized weight [out, in]: for other types and
// devices, for gradients, and as the reference of the tests. For WeightFormat::kInt8, rows of x are
// quantized.
at::Tensor packed_linear_by_libtorch(const at::Tensor& weight, WeightFormat format,
                                     const at::Tensor& bias, const at::Tensor& x,
                                     const LinearEpilogue& epilogue = {});

}  // namespace loci::kernels
