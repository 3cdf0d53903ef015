// SPDX-License-Identifier: Apache-2.0
// Poses on the wire: x, y, z, then the quaternion, w first.
#pragma once

#include <span>

#include "loci/base/config.h"
#include "loci/camera/pose.h"

namespace loci::serve {

inline Json to_json(const camera::Pose& pose) {
  const camera::Quaternion q = camera::to_quaternion(pose.rotation);
  return Json::array({pose.position.x, pose.position.y, pose.position.z, q.w, q.x, q.y, q.z});
}

inline Json to_json(std::span<const camera::Pose> poses) {
  Json list = Json::array();
  for (const camera::Pose& pose : poses) list.push_back(to_json(pose));
  return list;
}

}  // namespace loci::serve
