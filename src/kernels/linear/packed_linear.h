// SPDX-License-Identifier: Apache-2.0
// Linear layers for inference: a weight laid out once for the loops that read it, in BF16, INT8 or
// INT4, and what follows the product done while its numbers are in registers.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "loci/kernels/linear/quantized_weight.h"

namespace loci::kernels {

// What becomes of y = x W^T + bias: GELU (tanh), then residual + gate * (y + addend).
struct LinearEpilogue {
  bool gelu = false;
  at::Tensor addend;    // [..., out] like y, or undefined
  at::Tensor residual;  // [..., out] like the result, or undefined
  at::Tensor gate;      // [B, F, 1, out], one a frame, for x [B, F * T, in]; undefined for 1
};

namespace packed_linear_kernels {
// A weight as packed_linear_kernel.h has it.
struct LayoutTensors {
  at::Tensor panels;
  at::Tensor scale;       // FP32: INT8 [panels, 1, 32], INT4 [panels, groups, 32]
  at::Tensor column_sum;  // INT8: INT32 [panels * 32]
};
LayoutTensors lay_out(const QuantizedWeight& weight);
}  // namespace packed_linear_kernels

class PackedLinear {
 public:
  // bias [out], or undefined. Keeps a copy of the weight's numbers and nothing of the weight.
  PackedLinear(const QuantizedWeight& weight, const at::Tensor& bias);

  // x [..., in] → [..., out], in x's type; with a residual in that one's. BF16 and INT4 weights are
  // multiplied in FP32. For INT8 weights the rows of x are rounded to INT8, each by its largest
  // number, and a row that is not finite becomes NaN. The same bits for any number of threads.
  // Gradients flow to x and the residual, by libtorch.
  at::Tensor operator()(const at::Tensor& x, const LinearEpilogue& epilogue = {}) const;

  // The numbers that the weight stands for, [out, in] FP32, read back from their layout.
  at::Tensor weight() const;
  // Those numbers as they are laid out, the same on every machine.
  const at::Tensor& panels() const { return layout_.panels; }
  const at::Tensor& bias() const { return bias_; }
  WeightFormat format() const { return format_; }
  int64_t in() const { return in_; }
  int64_t out() const { return out_; }

 private:
  at::Tensor by_kernel(const at::Tensor& x, const LinearEpilogue& epilogue) const;

  WeightFormat format_;
  int64_t in_, out_;
  packed_linear_kernels::LayoutTensors layout_;
  at::Tensor bias_;  // FP32 [out], or undefined
};

// The epilogue of a finished y [..., out]; in y's type, with a residual in that one's.
at::Tensor apply_epilogue(at::Tensor y, const LinearEpilogue& epilogue);

// The same in libtorch's operations with a weight [out, in] of numbers: for other types and
// devices, for gradients, and for tests. `format` says whether rows of x are rounded.
at::Tensor packed_linear_by_libtorch(const at::Tensor& weight, WeightFormat format,
                                     const at::Tensor& bias, const at::Tensor& x,
                                     const LinearEpilogue& epilogue = {});

}  // namespace loci::kernels
