// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/residual_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "loci/kernels/elementwise/residual_norm_loops.h"
#include "loci/kernels/machine/kernel_table.h"

#include "tests/base/expect_error.h"
#include "tests/kernels/matrix.h"

namespace loci::kernels {
namespace {

using testing::TensorList;

struct Shape {
  int64_t batch, frames, tokens, width;
};

// Frames of one and of several tasks; widths that are multiples of vectors and widths that are not.
const std::vector<Shape> kShapes = {{1, 3, 5, 8}, {2, 2, 70, 33}, {1, 1, 1, 1}, {1, 4, 24, 256}};

TensorList inputs_of(const Shape& s, bool per_frame) {
  const std::vector<int64_t> frames = {s.batch, s.frames, 1, s.width};
  const std::vector<int64_t> all = {s.width};
  const at::Tensor x = at::randn({s.batch, s.frames * s.tokens, s.width}) * 2 + 0.5;
  return {x, at::randn_like(x), at::randn(frames), at::randn(per_frame ? frames : all),
          at::randn(per_frame ? frames : all)};
}

std::string named(const Shape& s, bool per_frame, at::ScalarType type) {
  return fmt::format("{} x {} x {}, width {}, {}, {}", s.batch, s.frames, s.tokens, s.width,
                     per_frame ? "a frame's" : "learnt", c10::toString(type));
}

void expect_all_forms(const Shape& s, bool per_frame, at::ScalarType type) {
  const auto norm = [&](const TensorList& t, at::ScalarType dtype) {
    return NormAffine{.scale = t[3], .shift = t[4], .base = per_frame ? 1.0 : 0.0, .dtype = dtype};
  };
  const double tolerance = type == at::kFloat ? 1e-5 : 1e-2;
  const std::string name = named(s, per_frame, type);
  const TensorList inputs = inputs_of(s, per_frame);
  const std::vector<at::ScalarType> types = {at::kFloat, type, at::kFloat, at::kFloat, at::kFloat};
  // Every form uses every input, so that all have gradients.
  const auto with_rest = [](at::Tensor sum, const TensorList& rest) {
    for (const at::Tensor& tensor : rest) sum = sum + 0 * tensor.sum().to(sum.scalar_type());
    return sum;
  };
  const auto form = [&](bool gated, bool add, bool normed, at::ScalarType dtype) {
    return [=](const TensorList& t) -> TensorList {
      const at::Tensor gate = gated ? t[2] : at::Tensor();
      const at::Tensor unused = with_rest(at::zeros({}, t[0].options()), t);
      if (add && normed) {
        const auto [sum, out] = gated_add_norm(t[0], gate, t[1], norm(t, dtype));
        return {sum, out, unused};
      }
      if (add) return {gated_add(t[0], gate, t[1]), unused};
      return {affine_norm(t[0], norm(t, dtype)), unused};
    };
  };
  const auto reference = [&](bool gated, bool add, bool normed) {
    return [=](const TensorList& t) -> TensorList {
      const at::Tensor sum =
          add ? gated_add_by_libtorch(t[0], gated ? t[2] : at::Tensor(), t[1]) : t[0];
      const at::Tensor unused = with_rest(at::zeros({}, t[0].options()), t);
      if (!normed) return {sum, unused};
      const at::Tensor out = affine_norm_by_libtorch(sum, norm(t, at::kDouble));
      if (!add) return {out, unused};
      return {sum, out, unused};
    };
  };
  for (const bool gated : {false, true}) {
    for (const bool normed : {false, true}) {
      testing::expect_equal(form(gated, true, normed, type), reference(gated, true, normed), inputs,
                            types, tolerance, name);
    }
  }
  testing::expect_equal(form(false, false, true, type), reference(false, false, true), inputs,
                        types, tolerance, name);
}

TEST(ResidualNorm, MatchesFp64AtEveryLevel) {
  at::manual_seed(1);
  for (const Shape& shape : kShapes) {
    for (const bool per_frame : {true, false}) {
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        if (shape.width == 1 && type == at::kBFloat16) continue;  // rounds the only number there is
        expect_all_forms(shape, per_frame, type);
      }
    }
  }
}

// The compiler splits vectors of 16 lanes if the host has shorter ones.
TEST(ResidualNorm, SixteenLanesMatchFour) {
  at::manual_seed(2);
  for (const int64_t width : {5, 16, 100, 256}) {
    const at::Tensor x = at::randn({7, width}), y = at::randn({7, width});
    const at::Tensor vectors = at::randn({3, width});
    const auto* v = vectors.const_data_ptr<float>();
    const auto run = [&](const residual_norm_kernels::Kernels& kernels) {
      const at::Tensor out = at::zeros({4, 7, width}), sums = at::zeros({3, width});
      auto* o = out.mutable_data_ptr<float>();
      residual_norm_kernels::Forward<float> forward{};
      forward.x = x.const_data_ptr<float>();
      forward.y = y.const_data_ptr<float>();
      forward.gate = v;
      forward.scale = v + width;
      forward.shift = v + 2 * width;
      forward.base = 1;
      forward.eps = 1e-6F;
      forward.sum = o;
      forward.norm = o + 7 * width;
      forward.end = 7;
      forward.width = width;
      kernels.forward(forward);
      residual_norm_kernels::Backward<float> backward{};
      backward.sum = o;
      backward.y = forward.y;
      backward.gate = v;
      backward.scale = v + width;
      backward.base = 1;
      backward.eps = 1e-6F;
      backward.grad_sum = forward.y;
      backward.grad_norm = forward.x;
      backward.grad_x = o + 14 * width;
      backward.grad_y = o + 21 * width;
      backward.sums = sums.mutable_data_ptr<float>();
      backward.end = 7;
      backward.width = width;
      kernels.backward(backward);
      return at::cat({out.flatten(0, 1), sums});
    };
    EXPECT_TRUE(at::allclose(run(residual_norm_kernels::Loops<16>::kKernels),
                             run(kernel_table(IsaLevel::kPlain).residual_norm), 1e-5, 1e-5))
        << width;
  }
}

TEST(ResidualNorm, GradientsAreTheSameForAnyNumberOfThreads) {
  at::manual_seed(3);
  const TensorList inputs = inputs_of({1, 3, 150, 40}, true);
  const auto both = [](const TensorList& t) -> TensorList {
    const auto [sum, norm] = gated_add_norm(t[0], t[2], t[1], {.scale = t[3], .shift = t[4]});
    return {sum, norm};
  };
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const TensorList one = testing::values_and_gradients(both, inputs);
  at::set_num_threads(3);
  const TensorList three = testing::values_and_gradients(both, inputs);
  at::set_num_threads(threads);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], three[i])) << i;
}

// Slices of one modulation tensor, which are not contiguous.
TEST(ResidualNorm, AcceptsSlicesOfOneTensor) {
  at::manual_seed(4);
  const at::Tensor m = at::randn({2, 3, 6, 16}), x = at::randn({2, 12, 16});
  const std::vector<at::Tensor> parts = m.split(1, 2);
  const auto run = [&](const at::Tensor& scale, const at::Tensor& shift) {
    return affine_norm(x, {.scale = scale, .shift = shift});
  };
  EXPECT_TRUE(at::equal(run(parts[3], parts[4]), run(parts[3].clone(), parts[4].clone())));
}

TEST(ResidualNorm, AcceptsAGradientOfTheNormOnly) {
  at::manual_seed(5);
  const TensorList inputs = inputs_of({1, 2, 3, 8}, true);
  const auto norm_of = [](const TensorList& t) -> TensorList {
    return {gated_add_norm(t[0], t[2], t[1], {.scale = t[3], .shift = t[4]}).second};
  };
  const auto reference = [](const TensorList& t) -> TensorList {
    return {affine_norm_by_libtorch(gated_add_by_libtorch(t[0], t[2], t[1]),
                                    {.scale = t[3], .shift = t[4], .dtype = at::kDouble})};
  };
  testing::expect_equal(norm_of, reference, inputs, std::vector(5, at::kFloat), 1e-5, "norm only");
}

TEST(ResidualNorm, RejectsInconsistentShapes) {
  const at::Tensor x = at::randn({1, 6, 8}), vectors = at::randn({1, 4, 1, 8});
  EXPECT_INTERNAL_ERROR(affine_norm(x, {.scale = vectors, .shift = vectors}),
                        ::testing::HasSubstr("scale must be [B, F, 1, width]"));
  EXPECT_INTERNAL_ERROR(gated_add(x, vectors, x),
                        ::testing::HasSubstr("gate must be [B, F, 1, width]"));
  EXPECT_INTERNAL_ERROR(gated_add(x, {}, x[0]), ::testing::HasSubstr("must have the same shape"));
}

}  // namespace
}  // namespace loci::kernels
