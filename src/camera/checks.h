// SPDX-License-Identifier: Apache-2.0
// Validation of poses read from files. Errors name the place in the file.
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

// Largest entry of |RᵀR - I| of an accepted rotation matrix R. Accepted matrices are replaced by
// the nearest rotation.
inline constexpr double kRotationTolerance = 1e-2;
// Largest accepted distance of a position from the origin, metres.
inline constexpr double kFarthest = 1e9;

// The rotation nearest to `matrix` (its polar factor). Values that are not finite, columns that are
// not orthonormal and reflections are bad input.
Mat3 checked_rotation(const Mat3& matrix, const Where& where);
Vec3 checked_position(const Vec3& position, const Where& where);

// 12 numbers (3x4) or 16 (4x4 with last row 0 0 0 1), row-major.
Pose pose_from_matrix(std::span<const double> values, const Where& where);
Pose pose_from_quaternion(const Quaternion& rotation, const Vec3& position, const Where& where);

// Throws unless there is at least one camera and the rate is a positive number.
void check_trajectory(const Trajectory& trajectory, std::string_view file);

}  // namespace loci::camera
