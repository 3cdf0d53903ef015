// SPDX-License-Identifier: Apache-2.0
// Compares fused operations with a reference in FP64: values and gradients, at every level of this
// machine and for every type.
#pragma once

#include <functional>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "loci/kernels/machine/cpu_features.h"

namespace loci::testing {

using TensorList = std::vector<at::Tensor>;
using Operation = std::function<TensorList(const TensorList&)>;

inline std::vector<kernels::IsaLevel> levels_here() {
  std::vector<kernels::IsaLevel> levels;
  for (const kernels::IsaLevel level : kernels::kIsaLevels) {
    if (level <= kernels::cpu_features().best_level()) levels.push_back(level);
  }
  return levels;
}

// The largest difference relative to the largest expected number.
inline double largest_error(const at::Tensor& got, const at::Tensor& expected) {
  const at::Tensor wanted = expected.to(at::kDouble);
  return ((got.to(at::kDouble) - wanted).abs().max() / wanted.abs().max()).item<double>();
}

// The outputs of `operation`, then the gradients of all inputs for fixed gradients of the outputs.
inline TensorList values_and_gradients(const Operation& operation, const TensorList& inputs) {
  TensorList leaves;
  for (const at::Tensor& input : inputs) {
    leaves.push_back(input.detach().clone().set_requires_grad(true));
  }
  const TensorList outputs = operation(leaves);
  TensorList all, weights;
  for (const at::Tensor& output : outputs) {
    all.push_back(output.detach().to(at::kDouble));
    const at::Tensor index = at::arange(output.numel(), at::kDouble).view(output.sizes());
    // Signed powers of two, which are exact in every type.
    weights.push_back(
        (at::cos(1.7 * index + 0.3).sign() * at::exp2((index % 3) - 1)).to(output.scalar_type()));
  }
  for (const at::Tensor& gradient : torch::autograd::grad(outputs, leaves, weights)) {
    all.push_back(gradient.to(at::kDouble));
  }
  return all;
}

inline double worst_error(const at::Tensor& value, const at::Tensor& expected) {
  return ((value - expected).abs().max() / expected.abs().max().clamp_min(1e-3)).item<double>();
}

// Compares `operation` on inputs rounded to `types` (one per input) with `reference` on the same
// numbers in FP64.
inline void expect_equal(const Operation& operation, const Operation& reference,
                         const TensorList& inputs, const std::vector<at::ScalarType>& types,
                         double tolerance, const std::string& what) {
  TensorList rounded, wide;
  for (size_t i = 0; i < inputs.size(); ++i) {
    rounded.push_back(inputs[i].to(types[i]));
    wide.push_back(rounded.back().to(at::kDouble));
  }
  const TensorList expected = values_and_gradients(reference, wide);
  for (const kernels::IsaLevel level : levels_here()) {
    const kernels::IsaOverride chosen(level);
    const TensorList found = values_and_gradients(operation, rounded);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_LT(worst_error(found[i], expected[i]), tolerance)
          << what << ", " << kernels::name_of(level) << ", result " << i;
    }
  }
}

}  // namespace loci::testing
