// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/convolution/conv_3x3.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/kernels/machine/cpu_features.h"

namespace loci::kernels {
namespace {

struct Gradients {
  at::Tensor y, x, weight, bias;
};

// Sizes that are multiples of tiles and sizes that are not, at every level of this machine.
TEST(Conv3x3, MatchesLibtorch) {
  at::manual_seed(3);
  for (const IsaLevel level : kIsaLevels) {
    if (level > cpu_features().best_level()) continue;
    const IsaOverride chosen(level);
    for (const auto& [in, out] :
         {std::pair{1, 1}, {7, 5}, {12, 32}, {32, 12}, {37, 27}, {64, 48}}) {
      for (const auto& [height, width] : {std::pair{1, 1}, {1, 6}, {5, 1}, {6, 9}}) {
        const at::Tensor x = at::randn({2, height, width, in}).requires_grad_(true);
        const at::Tensor weight = at::randn({out, in, 3, 3}).requires_grad_(true);
        const at::Tensor bias = at::randn({out}).requires_grad_(true);
        const at::Tensor factors = at::randn({2, height, width, out});
        const auto run = [&](const at::Tensor& y) {
          for (const at::Tensor& leaf : {x, weight, bias}) leaf.mutable_grad() = at::Tensor();
          (y * factors).sum().backward();
          return Gradients{y.detach(), x.grad().clone(), weight.grad().clone(),
                           bias.grad().clone()};
        };
        const Gradients got = run(conv_3x3(x, weight, bias));
        const Gradients wanted = run(conv_3x3_by_libtorch(x, weight, bias));
        EXPECT_TRUE(got.y.equal(wanted.y)) << in << " " << out;
        EXPECT_TRUE(at::allclose(got.x, wanted.x, 1e-4, 1e-4)) << in << " " << out;
        EXPECT_TRUE(at::allclose(got.weight, wanted.weight, 1e-4, 1e-4)) << in << " " << out;
        EXPECT_TRUE(at::allclose(got.bias, wanted.bias, 1e-4, 1e-4)) << in << " " << out;
      }
    }
  }
}

// As causal convolutions do with the outputs of their taps.
TEST(Conv3x3, OutputCanBeModifiedInPlace) {
  const at::Tensor x = at::randn({3, 4, 4, 8});
  const at::Tensor weight = at::randn({8, 8, 3, 3}).requires_grad_(true);
  const auto gradient = [&](const auto& convolution) {
    weight.mutable_grad() = at::Tensor();
    const at::Tensor y = convolution(x, weight, at::Tensor());
    y.narrow(0, 1, 2).add_(convolution(x.narrow(0, 0, 2), weight, at::Tensor()));
    y.square().sum().backward();
    return weight.grad().clone();
  };
  EXPECT_TRUE(at::allclose(gradient(conv_3x3), gradient(conv_3x3_by_libtorch), 1e-4, 1e-3));
}

TEST(Conv3x3, HasOnlyTheGradientsThatAreNeeded) {
  const at::Tensor x = at::randn({1, 4, 4, 8});
  const at::Tensor weight = at::randn({8, 8, 3, 3}).requires_grad_(true);
  conv_3x3(x, weight, {}).sum().backward();
  EXPECT_TRUE(weight.grad().defined());
  EXPECT_FALSE(x.grad().defined());
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(conv_3x3(x, weight, {}).requires_grad());
}

}  // namespace
}  // namespace loci::kernels
