// SPDX-License-Identifier: Apache-2.0
// Poses and lenses from numbers of unknown origin: everything a file may hold is checked here, and
// a refusal names the place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "loci/camera/trajectory.h"

namespace loci::camera {

// A place in a file: "path.txt: line 12", "path.json: c2w[3]" (unit "c2w[]").
struct Where {
  std::string_view file;
  std::string_view unit;
  int64_t index;

  std::string str() const;
};

// The largest entry of |RᵀR - I| that still counts as a rotation; what is above rounding is removed
// by taking the nearest rotation.
inline constexpr double kRotationTolerance = 1e-2;
// No path leaves a ball of this radius, metres.
inline constexpr double kFarthest = 1e9;

// The rotation nearest to `matrix` (its polar factor). Values that are not finite, columns that are
// not orthonormal and mirrorings are refused.
Mat3 checked_rotation(const Mat3& matrix, const Where& where);
Vec3 checked_position(const Vec3& position, const Where& where);

// 12 numbers (3x4) or 16 (4x4 with last row 0 0 0 1), row-major.
Pose pose_from_matrix(std::span<const double> values, const Where& where);
Pose pose_from_quaternion(const Quaternion& rotation, const Vec3& position, const Where& where);

// Throws unless there is at least one camera and the rate is a positive number.
void check_trajectory(const Trajectory& trajectory, std::string_view file);

}  // namespace loci::camera
