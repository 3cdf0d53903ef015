// SPDX-License-Identifier: Apache-2.0
// Layers that several networks share. Parameters are converted to the input's type at each use, so
// FP32 master weights can compute in BF16.
#pragma once

#include <functional>
#include <string>

#include <ATen/core/Tensor.h>

#include "loci/kernels/elementwise/rms_norm.h"
#include "loci/kernels/linear/packed_linear.h"
#include "loci/model/weights/parameters.h"

namespace loci::model {

// The type in which sums, norms and states are computed: FP64 for FP64, otherwise FP32.
inline at::ScalarType wide(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

struct Linear {
  at::Tensor weight;  // [out, in]; undefined in a quantized layer
  at::Tensor bias;    // [out], or undefined
  // Replaces libtorch's product with `weight`; for inference.
  std::function<at::Tensor(const at::Tensor& x, const kernels::LinearEpilogue& epilogue)> product;
  std::string name;  // of a large layer: the prefix of its parameters' names

  Linear() = default;
  Linear(const Scope& scope, int64_t in, int64_t out, bool with_bias = true);
  // Initialised with zeros, for new branches that have no effect before training.
  static Linear zero(const Scope& scope, int64_t in, int64_t out);

  // One of the large layers of a model. `quantization` is the format of its weight: "none", "int8"
  // or "int4".
  static Linear large(const Scope& scope, int64_t in, int64_t out, const std::string& quantization,
                      const Initialiser& start);
  static Linear large(const Scope& scope, int64_t in, int64_t out,
                      const std::string& quantization) {
    return large(scope, in, out, quantization, init::fan_in(in));
  }
  // Packs the weight; later products use the packed copy.
  void pack(kernels::WeightFormat format);

  at::Tensor operator()(const at::Tensor& x, const kernels::LinearEpilogue& epilogue = {}) const;
};

// x / rms(x) * weight over the last dimension, computed in FP32, returned in x's type.
struct RmsNorm {
  at::Tensor weight;  // [size]
  double eps = 1e-6;

  RmsNorm() = default;
  RmsNorm(const Scope& scope, int64_t size, double eps);

  at::Tensor operator()(const at::Tensor& x) const;
  // Norm over all heads of x [B, N, size], then a map per head.
  kernels::NormedHeads operator()(const at::Tensor& x, int64_t heads, const kernels::HeadMap& map,
                                  bool want_norm) const;
};

// Weight and bias of a layer norm; kernels::affine_norm() applies them.
struct LayerNorm {
  at::Tensor weight, bias;  // [size]
  double eps = 1e-6;

  LayerNorm() = default;
  LayerNorm(const Scope& scope, int64_t size, double eps);
};

}  // namespace loci::model
