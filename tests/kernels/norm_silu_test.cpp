// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/norm_silu.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/kernels/machine/cpu_features.h"

namespace loci::kernels {
namespace {

// Sizes that are multiples of vectors and sizes that are not, at every level of this machine.
TEST(NormSilu, MatchesLibtorch) {
  at::manual_seed(3);
  for (const IsaLevel level : kIsaLevels) {
    if (level > cpu_features().best_level()) continue;
    const IsaOverride chosen(level);
    for (const int64_t channels : {1, 7, 8, 33}) {
      const at::Tensor x = at::randn({3, 5, channels}).requires_grad_(true);
      const at::Tensor gamma = at::randn({channels}).requires_grad_(true);
      const at::Tensor weights = at::randn(x.sizes());
      const auto gradients = [&](const at::Tensor& y) {
        x.mutable_grad() = at::Tensor();
        gamma.mutable_grad() = at::Tensor();
        (y * weights).sum().backward();
        return std::pair(x.grad().clone(), gamma.grad().clone());
      };
      const at::Tensor y = norm_silu(x, gamma), expected = norm_silu_by_libtorch(x, gamma);
      EXPECT_TRUE(at::allclose(y, expected, 1e-5, 1e-5)) << channels;
      const auto [dx, dgamma] = gradients(y);
      const auto [expected_dx, expected_dgamma] = gradients(expected);
      EXPECT_TRUE(at::allclose(dx, expected_dx, 1e-4, 1e-5)) << channels;
      EXPECT_TRUE(at::allclose(dgamma, expected_dgamma, 1e-4, 1e-5)) << channels;

      const at::NoGradGuard no_grad;
      const at::Tensor half = x.detach().to(at::kBFloat16);
      const at::Tensor wide = norm_silu_by_libtorch(half.to(at::kFloat), gamma);
      EXPECT_TRUE(at::allclose(norm_silu(half.clone(), gamma).to(at::kFloat), wide, 0.01, 0.01))
          << channels;
    }
  }
}

TEST(NormSilu, OverwritesInputThatIsNotShared) {
  const at::NoGradGuard no_grad;
  const at::Tensor gamma = at::ones({8});
  at::Tensor mine = at::randn({4, 8});
  const at::Tensor kept = at::randn({4, 8}), copy = kept.clone();
  const void* memory = mine.const_data_ptr();
  EXPECT_EQ(norm_silu(std::move(mine), gamma).const_data_ptr(), memory);
  norm_silu(kept, gamma);
  EXPECT_TRUE(at::equal(kept, copy));
}

}  // namespace
}  // namespace loci::kernels
