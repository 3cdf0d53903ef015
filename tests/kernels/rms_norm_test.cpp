// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/rms_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "loci/kernels/elementwise/rms_norm_loops.h"
#include "loci/kernels/machine/kernel_table.h"

#include "tests/base/expect_error.h"
#include "tests/kernels/matrix.h"

namespace loci::kernels {
namespace {

using testing::TensorList;

// A map over heads of 24 channels with all kinds of parts, for `tokens` tokens.
HeadMap example_map(int64_t tokens) {
  HeadMap map;
  map.tiles_begin = 2;
  map.tiles = 2;
  map.rotations = {{10, 2, /*adjacent=*/false}, {14, 5, /*adjacent=*/true}};
  map.matrices = at::randn({tokens, 4, 4});
  map.cosine = at::randn({tokens, 7});
  map.sine = at::randn({tokens, 7});
  return map;
}

TEST(RmsNorm, MatchesFp64AtEveryLevel) {
  at::manual_seed(1);
  for (const int64_t rows : {1, 3, 150}) {
    for (const int64_t width : {1, 7, 8, 33, 256}) {
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        // The norm of a single number is its sign, so its gradient is zero.
        const double eps = width == 1 ? 1.0 : 1e-6;
        const auto norm = [eps](const TensorList& t) -> TensorList {
          return {rms_norm(t[0], t[1], eps)};
        };
        const auto reference = [eps](const TensorList& t) -> TensorList {
          return {rms_norm_by_libtorch(t[0], t[1], eps)};
        };
        testing::expect_equal(norm, reference, {at::randn({2, rows, width}), at::randn({width})},
                              {type, at::kFloat}, type == at::kFloat ? 1e-5 : 1e-2,
                              fmt::format("{} x {}", rows, width));
      }
    }
  }
}

TEST(RmsNorm, WithAMapMatchesFp64AtEveryLevel) {
  at::manual_seed(2);
  constexpr int64_t kTokens = 70, kHeads = 3, kWidth = 24 * kHeads;
  const HeadMap map = example_map(kTokens);
  const TensorList inputs = {at::randn({2, kTokens, kWidth}), at::randn({kWidth})};
  for (const bool want_norm : {false, true}) {
    const auto run = [&](const TensorList& t) -> TensorList {
      const NormedHeads heads = rms_norm_heads(t[0], t[1], 1e-6, kHeads, map, want_norm);
      EXPECT_EQ(heads.norm.defined(), want_norm);
      if (!want_norm) return {heads.mapped};
      return {heads.norm, heads.mapped};
    };
    const auto reference = [&](const TensorList& t) -> TensorList {
      const at::Tensor norm =
          rms_norm_by_libtorch(t[0], t[1], 1e-6).unflatten(-1, {kHeads, kWidth / kHeads});
      const at::Tensor mapped = head_map_by_libtorch(norm, map);
      if (!want_norm) return {mapped};
      return {norm, mapped};
    };
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      testing::expect_equal(run, reference, inputs, {type, at::kFloat},
                            type == at::kFloat ? 1e-5 : 1e-2, want_norm ? "both" : "mapped");
    }
  }
}

TEST(RmsNorm, AcceptsAGradientOfOneOutput) {
  at::manual_seed(3);
  const HeadMap map = example_map(5);
  for (const bool mapped : {false, true}) {
    const auto pick = [&](const NormedHeads& heads) { return mapped ? heads.mapped : heads.norm; };
    const auto run = [&](const TensorList& t) -> TensorList {
      return {pick(rms_norm_heads(t[0], t[1], 1e-6, 2, map, true))};
    };
    const auto reference = [&](const TensorList& t) -> TensorList {
      const at::Tensor norm = rms_norm_by_libtorch(t[0], t[1], 1e-6).unflatten(-1, {2, 24});
      return {pick({norm, head_map_by_libtorch(norm, map)})};
    };
    testing::expect_equal(run, reference, {at::randn({1, 5, 48}), at::randn({48})},
                          {at::kFloat, at::kFloat}, 1e-5, mapped ? "mapped" : "norm");
  }
}

// The compiler splits vectors of 16 lanes if the host has shorter ones.
TEST(RmsNorm, SixteenLanesMatchFour) {
  at::manual_seed(4);
  for (const int64_t width : {5, 16, 100, 256}) {
    const at::Tensor x = at::randn({7, width}), weight = at::randn({width});
    const auto run = [&](const rms_norm_kernels::Kernels& kernels) {
      const at::Tensor out = at::zeros({14, width}), sums = at::zeros({1, width});
      std::vector<float> scratch(static_cast<size_t>(2 * width));
      rms_norm_kernels::Forward<float> forward{};
      forward.x = x.const_data_ptr<float>();
      forward.weight = weight.const_data_ptr<float>();
      forward.norm = out.mutable_data_ptr<float>();
      forward.eps = 1e-6F;
      forward.end = 7;
      forward.width = width;
      forward.scratch = scratch.data();
      kernels.forward(forward);
      rms_norm_kernels::Backward<float> backward{};
      backward.x = forward.x;
      backward.weight = forward.weight;
      backward.grad_norm = forward.x;
      backward.grad_x = forward.norm + 7 * width;
      backward.sums = sums.mutable_data_ptr<float>();
      backward.eps = 1e-6F;
      backward.end = 7;
      backward.width = width;
      backward.scratch = scratch.data();
      kernels.backward(backward);
      return at::cat({out, sums});
    };
    EXPECT_TRUE(at::allclose(run(rms_norm_kernels::Loops<16>::kKernels),
                             run(kernel_table(IsaLevel::kPlain).rms_norm), 1e-5, 1e-5))
        << width;
  }
}

TEST(RmsNorm, GradientsAreTheSameForAnyNumberOfThreads) {
  at::manual_seed(5);
  const TensorList inputs = {at::randn({1, 500, 48}), at::randn({48})};
  const auto norm = [](const TensorList& t) -> TensorList { return {rms_norm(t[0], t[1], 1e-6)}; };
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const TensorList one = testing::values_and_gradients(norm, inputs);
  at::set_num_threads(3);
  const TensorList three = testing::values_and_gradients(norm, inputs);
  at::set_num_threads(threads);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], three[i])) << i;
}

TEST(RmsNorm, RejectsInconsistentSizes) {
  const at::Tensor x = at::randn({1, 5, 48});
  EXPECT_INTERNAL_ERROR(rms_norm(x, at::ones({8}), 1e-6), ::testing::HasSubstr("got 8 for"));
  EXPECT_INTERNAL_ERROR(rms_norm_heads(x, at::ones({48}), 1e-6, 2, example_map(4), false),
                        ::testing::HasSubstr("the map has 4 tokens"));
}

}  // namespace
}  // namespace loci::kernels
