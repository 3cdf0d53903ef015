// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/linear/wide_linear.h"

#include <array>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "loci/kernels/machine/cpu_features.h"

#include "tests/base/expect_error.h"
#include "tests/kernels/matrix.h"

namespace loci::kernels {
namespace {

using ::loci::testing::largest_error;
using ::testing::HasSubstr;

// BF16 has 8 significant bits: rounding changes a number by at most a fraction of 2^-8.
constexpr double kBf16Rounding = 1.0 / 256, kFp32Rounding = 3e-6;

TEST(WideLinear, MatchesFp64) {
  at::manual_seed(1);
  // The last shape needs two blocks of rows, the second of which is incomplete.
  const std::vector<std::array<int64_t, 3>> shapes = {
      {1, 1, 1}, {5, 3, 7}, {33, 130, 65}, {3, 30'000, 200}};
  for (const auto& [rows, in, out] : shapes) {
    const at::Tensor weight = at::randn({out, in}).to(at::kBFloat16);
    const at::Tensor bias = at::randn({out}).to(at::kBFloat16);
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor x = at::randn({rows, in}).to(type);
      const at::Tensor expected = at::linear(x.to(at::kDouble), weight.to(at::kDouble));
      const double most = type == at::kFloat ? kFp32Rounding : kBf16Rounding;
      const at::Tensor plain = wide_linear(x, weight, {});
      EXPECT_EQ(plain.scalar_type(), type);
      EXPECT_LT(largest_error(plain, expected), most) << rows << " x " << in << " -> " << out;
      EXPECT_LT(largest_error(wide_linear(x, weight, bias), expected + bias.to(at::kDouble)), most);
    }
  }
}

TEST(WideLinear, AcceptsInputOfAnyShape) {
  at::manual_seed(2);
  const at::Tensor weight = at::randn({6, 8}).to(at::kBFloat16), bias = at::randn({6});
  const at::Tensor x = at::randn({2, 8, 3}).transpose(1, 2);  // [2, 3, 8], not contiguous
  const at::Tensor y = wide_linear(x, weight, bias);
  EXPECT_EQ(y.sizes(), (std::vector<int64_t>{2, 3, 6}));
  EXPECT_TRUE(at::allclose(y, at::linear(x, weight.to(at::kFloat), bias), 1e-5, 1e-5));
  EXPECT_EQ(wide_linear(at::empty({0, 8}), weight, bias).sizes(), (std::vector<int64_t>{0, 6}));
}

TEST(WideLinear, WideningPaysWithoutBf16Instructions) {
  const at::Tensor narrow = at::zeros({4, 4}, at::kBFloat16), wide = at::zeros({4, 4});
  EXPECT_TRUE(widening_pays(wide, narrow));
  EXPECT_FALSE(widening_pays(wide, wide));
  EXPECT_FALSE(widening_pays(narrow, wide));
  EXPECT_FALSE(widening_pays(wide.to(at::kDouble), narrow));
  EXPECT_EQ(widening_pays(narrow, narrow), isa_level() < IsaLevel::kAvx512Bf16);
  const IsaOverride plain(IsaLevel::kPlain);
  EXPECT_TRUE(widening_pays(narrow, narrow));
}

TEST(WideLinear, LinearSupportsAllTypesAndGradients) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({5, 12}), weight = at::randn({7, 12}), bias = at::randn({7});
  EXPECT_TRUE(at::equal(linear(x, weight, bias), at::linear(x, weight, bias)));
  const at::Tensor deep = x.to(at::kDouble);
  EXPECT_EQ(linear(deep, weight.to(at::kBFloat16), at::Tensor()).scalar_type(), at::kDouble);
  // The gradient of a BF16 weight equals that of the FP32 product.
  const at::Tensor leaf = weight.to(at::kBFloat16).set_requires_grad(true);
  linear(x, leaf, bias).sum().backward();
  EXPECT_LT(largest_error(leaf.grad(), x.sum(0).expand({7, 12})), kBf16Rounding);
  const at::NoGradGuard no_grad;
  EXPECT_LT(largest_error(linear(x, leaf, bias), linear_by_libtorch(x, leaf, bias)), kFp32Rounding);
}

TEST(WideLinear, ChecksShapes) {
  const at::Tensor weight = at::zeros({6, 8}, at::kBFloat16);
  EXPECT_INTERNAL_ERROR(wide_linear(at::zeros({2, 7}), weight, {}), HasSubstr("x has 7 inputs"));
  EXPECT_INTERNAL_ERROR(wide_linear(at::zeros({2, 8}), weight, at::zeros({5})),
                        HasSubstr("6 outputs"));
}

}  // namespace
}  // namespace loci::kernels
