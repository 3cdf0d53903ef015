// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/stream/pose_tensors.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::sample {

namespace {

constexpr int64_t kPoseNumbers = 12;
constexpr int64_t kLensNumbers = 7;

at::Tensor checked(const at::Tensor& tensor, int64_t numbers, std::string_view what,
                   std::string_view kind) {
  if (!tensor.defined() || tensor.dim() != 2 || tensor.size(1) != numbers ||
      tensor.scalar_type() != at::kDouble || !tensor.isfinite().all().item<bool>()) {
    fail("{}: {}: expected finite FP64 values of shape [n, {}]", what, kind, numbers);
  }
  return tensor.contiguous();
}

}  // namespace

at::Tensor pose_tensor(std::span<const camera::Pose> poses) {
  at::Tensor out = at::empty({static_cast<int64_t>(poses.size()), kPoseNumbers}, at::kDouble);
  double* at = out.data_ptr<double>();
  for (const camera::Pose& pose : poses) {
    at = std::copy(pose.rotation.m.begin(), pose.rotation.m.end(), at);
    for (const double x : {pose.position.x, pose.position.y, pose.position.z}) *at++ = x;
  }
  return out;
}

at::Tensor pose_tensor(std::span<const camera::Camera> cameras) {
  return pose_tensor(camera::poses_of(cameras));
}

at::Tensor lens_tensor(std::span<const camera::Camera> cameras) {
  at::Tensor out = at::zeros({static_cast<int64_t>(cameras.size()), kLensNumbers}, at::kDouble);
  double* row = out.data_ptr<double>();
  for (const auto& [pose, lens] : cameras) {
    row[0] = lens.fov_x;
    row[1] = lens.xi;
    if (lens.normalised) {
      row[2] = 1;
      std::copy(lens.normalised->begin(), lens.normalised->end(), row + 3);
    }
    row += kLensNumbers;
  }
  return out;
}

std::vector<camera::Pose> poses_from(const at::Tensor& poses, std::string_view what) {
  const at::Tensor rows = checked(poses, kPoseNumbers, what, "poses");
  std::vector<camera::Pose> read(rows.size(0));
  const double* row = rows.const_data_ptr<double>();
  for (camera::Pose& pose : read) {
    std::copy(row, row + 9, pose.rotation.m.begin());
    pose.position = {row[9], row[10], row[11]};
    row += kPoseNumbers;
  }
  return read;
}

std::vector<camera::Camera> cameras_from(const at::Tensor& poses, const at::Tensor& lenses,
                                         std::string_view what) {
  const std::vector<camera::Pose> read = poses_from(poses, what);
  const at::Tensor rows = checked(lenses, kLensNumbers, what, "lenses");
  if (rows.size(0) != std::ssize(read)) {
    fail("{}: {} poses and {} lenses; expected as many poses as lenses", what, read.size(),
         rows.size(0));
  }
  std::vector<camera::Camera> cameras = camera::with_lens(read, {});
  const double* row = rows.const_data_ptr<double>();
  for (auto& [pose, lens] : cameras) {
    lens.fov_x = row[0];
    lens.xi = row[1];
    if (row[2] != 0) lens.normalised = {row[3], row[4], row[5], row[6]};
    row += kLensNumbers;
  }
  return cameras;
}

}  // namespace loci::sample
