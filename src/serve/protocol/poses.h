// SPDX-License-Identifier: Apache-2.0
// Poses on the wire: x, y, z, then the quaternion, w first.
#pragma once

#include <span>

#include "loci/serve/protocol/wire.h"

namespace loci::serve {

inline Json to_json(std::span<const camera::Pose> poses) {
  Json list = Json::array();
  for (const camera::Pose& pose : poses) list.push_back(to_json(pose));
  return list;
}

}  // namespace loci::serve
