// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/frame_projection.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::camera {

namespace {

std::array<double, 2> focal_lengths(const Lens& lens, double aspect) {
  if (lens.normalised) return {(*lens.normalised)[0], (*lens.normalised)[1]};
  const double fx = 1 / (2 * std::tan(lens.fov_x / 2));
  return {fx, fx * aspect};
}

// The same matrices, with every operation rounded to BF16.
FrameProjections bf16_projections(std::span<const Camera> cameras, double aspect,
                                  const ProjectionOptions& options) {
  const int64_t count = std::ssize(cameras);
  at::Tensor rotation = at::empty({count, 3, 3}, at::kDouble);
  at::Tensor offset = at::empty({count, 3}, at::kDouble),
             focal = at::empty({count, 2}, at::kDouble);
  for (int64_t i = 0; i < count; ++i) {
    const auto& [pose, lens] = cameras[static_cast<size_t>(i)];
    const Mat3 to_camera = pose.rotation.transposed();
    const Vec3 t = -(to_camera * pose.position);
    const auto [fx, fy] = options.focal.value_or(focal_lengths(lens, aspect));
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) rotation[i][r][c] = to_camera(r, c);
    }
    offset[i].copy_(at::tensor({t.x, t.y, t.z}, at::kDouble));
    focal[i][0] = fx * (*options.bf16_image)[0];
    focal[i][1] = fy * (*options.bf16_image)[1];
  }
  const auto rounded = [](const at::Tensor& x) { return x.to(at::kFloat).to(at::kBFloat16); };
  rotation = rounded(rotation);
  offset = rounded(offset);
  focal =
      rounded(focal) / at::tensor({(*options.bf16_image)[0], (*options.bf16_image)[1]}, at::kDouble)
                           .to(at::kBFloat16);
  if (options.logarithmic) {
    const at::Tensor length = offset.norm(2, -1, /*keepdim=*/true);
    offset = offset * (length.log1p() / (4 * length.clamp_min(1e-8)));
  } else {
    offset = offset / options.translation_scale;
  }
  const auto homogeneous = [&](const at::Tensor& matrix, const at::Tensor& column) {
    at::Tensor whole = at::eye(4, at::kBFloat16).repeat({count, 1, 1});
    whole.narrow(1, 0, 3).narrow(2, 0, 3).copy_(matrix);
    whole.narrow(1, 0, 3).select(2, 3).copy_(column);
    return whole;
  };
  const auto lens = [&](const at::Tensor& scales) {
    at::Tensor whole = at::eye(4, at::kBFloat16).repeat({count, 1, 1});
    whole.select(1, 0).select(1, 0).copy_(scales.select(1, 0));
    whole.select(1, 1).select(1, 1).copy_(scales.select(1, 1));
    return whole;
  };
  const at::Tensor back = rotation.transpose(1, 2);
  const at::Tensor centre = -at::matmul(back, offset.unsqueeze(-1)).squeeze(-1);
  return {at::matmul(lens(focal), homogeneous(rotation, offset)).to(at::kFloat),
          at::matmul(homogeneous(back, centre), lens(1 / focal)).to(at::kFloat)};
}

}  // namespace

FrameProjections frame_projections(std::span<const Camera> cameras, double aspect,
                                   const ProjectionOptions& options) {
  const int64_t count = std::ssize(cameras), each = options.cameras_per_latent;
  LOCI_CHECK(count > 0 && each > 0 && count % each == 0, "{} cameras for latents of {} cameras",
             count, each);
  if (options.bf16_image) {
    const FrameProjections all = bf16_projections(cameras, aspect, options);
    return {all.project.reshape({count / each, each * 4, 4}),
            all.unproject.reshape({count / each, each * 4, 4})};
  }
  const at::Tensor project = at::zeros({count, 4, 4}, at::kDouble);
  const at::Tensor unproject = at::zeros({count, 4, 4}, at::kDouble);
  auto p = project.accessor<double, 3>(), u = unproject.accessor<double, 3>();
  for (int64_t i = 0; i < count; ++i) {
    const auto& [pose, lens] = cameras[static_cast<size_t>(i)];
    const auto [fx, fy] = options.focal.value_or(focal_lengths(lens, aspect));
    const Mat3 rotation = pose.rotation.transposed();
    Vec3 t = -(rotation * pose.position);
    constexpr double kLeastLength = 1e-8;
    if (options.logarithmic) {
      t = t * (std::log1p(norm(t)) / (4 * std::max(norm(t), kLeastLength)));
    } else {
      t = t * (1 / options.translation_scale);
    }
    const Vec3 centre = -(pose.rotation * t);
    const double scale[3] = {fx, fy, 1}, offset[3] = {t.x, t.y, t.z};
    const double position[3] = {centre.x, centre.y, centre.z};
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) {
        p[i][r][c] = scale[r] * rotation(r, c);
        u[i][r][c] = pose.rotation(r, c) / scale[c];
      }
      p[i][r][3] = scale[r] * offset[r];
      u[i][r][3] = position[r];
    }
    p[i][3][3] = u[i][3][3] = 1;
  }
  return {project.to(at::kFloat).reshape({count / each, each * 4, 4}),
          unproject.to(at::kFloat).reshape({count / each, each * 4, 4})};
}

}  // namespace loci::camera
