// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/camera.h"

namespace loci::camera {

std::vector<Pose> poses_of(std::span<const Camera> cameras) {
  std::vector<Pose> poses;
  poses.reserve(cameras.size());
  for (const Camera& camera : cameras) poses.push_back(camera.pose);
  return poses;
}

std::vector<Camera> with_lens(std::span<const Pose> poses, const Lens& lens) {
  std::vector<Camera> cameras;
  cameras.reserve(poses.size());
  for (const Pose& pose : poses) cameras.push_back({pose, lens});
  return cameras;
}

std::vector<Camera> relative_to_first(std::span<const Camera> cameras) {
  const std::vector<Pose> poses = relative_to_first(poses_of(cameras));
  std::vector<Camera> relative(cameras.begin(), cameras.end());
  for (size_t i = 0; i < relative.size(); ++i) relative[i].pose = poses[i];
  return relative;
}

}  // namespace loci::camera
