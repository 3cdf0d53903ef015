// SPDX-License-Identifier: Apache-2.0
// Layers that several networks share. Parameters are converted to the input's type where they are
// used: FP32 master weights serve BF16 compute.
#pragma once

#include <functional>
#include <string>

#include <ATen/core/Tensor.h>

#include "loci/kernels/linear/packed_linear.h"
#include "loci/kernels/elementwise/rms_norm.h"
#include "loci/model/weights/parameters.h"

namespace loci::model {

// The type in which sums, norms and states are computed: FP64 for FP64, otherwise FP32.
inline at::ScalarType wide(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

struct Linear {
  at::Tensor weight;  // [out, in]; undefined where numbers of few bits are kept instead
  at::Tensor bias;    // [out], or undefined
  // How the layer computes, if not by libtorch on the weight; for inference.
  std::function<at::Tensor(const at::Tensor& x, const kernels::LinearEpilogue& epilogue)> product;
  std::string name;  // of a large layer: what its parameters' names begin with

  Linear() = default;
  Linear(const Scope& scope, int64_t in, int64_t out, bool with_bias = true);
  // Starts at zero: a new branch that changes nothing at first.
  static Linear zero(const Scope& scope, int64_t in, int64_t out);

  // One of the large layers of a model: "none", "int8" or "int4" is how its weight is kept.
  static Linear large(const Scope& scope, int64_t in, int64_t out, const std::string& quantization,
                      const Initialiser& start);
  static Linear large(const Scope& scope, int64_t in, int64_t out,
                      const std::string& quantization) {
    return large(scope, in, out, quantization, init::fan_in(in));
  }
  // Computes from now on with the weight laid out once.
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
  // Of all heads together, then each mapped: x [B, N, size].
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
