// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/gelu.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/kernels/elementwise/gelu_loops.h"
#include "loci/kernels/machine/kernel_table.h"

#include "tests/kernels/matrix.h"

namespace loci::kernels {
namespace {

using testing::TensorList;

TensorList ours(const TensorList& t) { return {kernels::gelu(t[0])}; }
TensorList libtorchs(const TensorList& t) { return {at::gelu(t[0], "tanh")}; }

TEST(Gelu, MatchesFp64AtEveryLevel) {
  at::manual_seed(1);
  for (const int64_t count : {1, 7, 8, 33, 1000}) {
    testing::expect_equal(ours, libtorchs, {3 * at::randn({2, count})}, {at::kFloat}, 1e-6, "FP32");
    testing::expect_equal(ours, libtorchs, {3 * at::randn({2, count})}, {at::kBFloat16}, 1e-2,
                          "BF16");
  }
}

// For large |x|, GELU is 0 or x, and its derivative is 0 or 1.
TEST(Gelu, ApproachesItsLimits) {
  const at::Tensor x = at::tensor({-1e4F, -30.0F, -9.0F, 0.0F, 9.0F, 30.0F, 1e4F});
  for (const IsaLevel level : testing::levels_here()) {
    const IsaOverride chosen(level);
    const TensorList found = testing::values_and_gradients(ours, {x});
    EXPECT_TRUE(at::allclose(found[0], x.clamp_min(0).to(at::kDouble), 1e-6, 1e-6));
    EXPECT_TRUE(at::isfinite(found[1]).all().item<bool>());
  }
  EXPECT_TRUE(at::isnan(kernels::gelu(at::full({9}, NAN))).all().item<bool>());
}

// The compiler splits vectors of 16 lanes if the host has shorter ones.
TEST(Gelu, SixteenLanesMatchFour) {
  at::manual_seed(2);
  const at::Tensor x = 3 * at::randn({100}), gradient = at::randn({100});
  const auto run = [&](const gelu_kernels::Kernels& kernels) {
    const at::Tensor out = at::zeros({200});
    auto* to = out.mutable_data_ptr<float>();
    kernels.forward(x.const_data_ptr<float>(), to, 100);
    kernels.backward(x.const_data_ptr<float>(), gradient.const_data_ptr<float>(), to + 100, 100);
    return out;
  };
  EXPECT_TRUE(at::allclose(run(gelu_kernels::Loops<16>::kKernels),
                           run(kernel_table(IsaLevel::kPlain).gelu), 1e-6, 1e-6));
}

TEST(Gelu, OverwritesInputThatIsNotShared) {
  const at::NoGradGuard no_grad;
  at::Tensor mine = at::randn({4, 8});
  const at::Tensor kept = at::randn({4, 8}), copy = kept.clone();
  const void* memory = mine.const_data_ptr();
  EXPECT_EQ(kernels::gelu(std::move(mine)).const_data_ptr(), memory);
  kernels::gelu(kept);
  EXPECT_TRUE(at::equal(kept, copy));
}

}  // namespace
}  // namespace loci::kernels
