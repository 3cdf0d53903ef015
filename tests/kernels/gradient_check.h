// SPDX-License-Identifier: Apache-2.0
// Compares gradients of FP64 expressions with central differences along random directions.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

namespace loci::testing {

// The largest difference over all inputs, relative to the larger of the two derivatives. `inputs`
// are FP64 leaves that require gradients; `loss` computes a scalar from their current values.
inline double gradient_error(const std::function<at::Tensor()>& loss,
                             const std::vector<at::Tensor>& inputs, int directions = 2) {
  constexpr double kStep = 1e-5;
  // Ignores the rounding error of the loss, divided by the step.
  constexpr double kFloor = 1e-6;
  const std::vector<at::Tensor> gradients = torch::autograd::grad(
      {loss()}, inputs, {}, /*retain_graph=*/false, /*create_graph=*/false, /*allow_unused=*/true);
  const at::NoGradGuard no_grad;
  double worst = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (int n = 0; n < directions; ++n) {
      const at::Tensor direction = at::randn_like(inputs[i]);
      const double analytic =
          gradients[i].defined() ? (gradients[i] * direction).sum().item<double>() : 0;
      const at::Tensor original = inputs[i].detach().clone();
      at::Tensor input = inputs[i].detach();  // shares the values
      input.copy_(original + kStep * direction);
      const double above = loss().item<double>();
      input.copy_(original - kStep * direction);
      const double below = loss().item<double>();
      input.copy_(original);
      const double numeric = (above - below) / (2 * kStep);
      const double size = std::max({std::abs(analytic), std::abs(numeric), kFloor});
      worst = std::max(worst, std::abs(analytic - numeric) / size);
    }
  }
  return worst;
}

// A scalar that depends on every element of x with a different weight.
inline at::Tensor weighted_sum(const at::Tensor& x) {
  const at::Tensor weights =
      at::arange(x.numel(), x.options().requires_grad(false)).view(x.sizes());
  return (x * at::cos(1.7 * weights + 0.3)).sum();
}

inline at::Tensor leaf(const at::Tensor& values) {
  return values.to(at::kDouble).detach().clone().set_requires_grad(true);
}

}  // namespace loci::testing
