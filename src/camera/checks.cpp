// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/checks.h"

#include <algorithm>

#include "loci/base/error.h"

namespace loci::camera {

namespace {

double determinant(const Mat3& m) { return dot(cross(m.column(0), m.column(1)), m.column(2)); }

double deviation(const Mat3& m) {
  const Mat3 gram = m.transposed() * m;
  double largest = 0;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      largest = std::max(largest, std::abs(gram(i, j) - (i == j ? 1 : 0)));
    }
  }
  return largest;
}

// One Newton step towards the polar factor: the mean of M and its inverse transpose.
Mat3 towards_rotation(const Mat3& m) {
  const Vec3 a = m.column(0), b = m.column(1), c = m.column(2);
  const double half = 0.5 / determinant(m);
  return Mat3::from_columns(a * 0.5 + cross(b, c) * half, b * 0.5 + cross(c, a) * half,
                            c * 0.5 + cross(a, b) * half);
}

}  // namespace

std::string Where::str() const {
  if (unit.ends_with("[]")) {
    return fmt::format("{}: {}[{}]", file, unit.substr(0, unit.size() - 2), index);
  }
  return fmt::format("{}: {} {}", file, unit, index);
}

Mat3 checked_rotation(const Mat3& matrix, const Where& where) {
  if (!std::all_of(matrix.m.begin(), matrix.m.end(), [](double v) { return std::isfinite(v); })) {
    fail("{}: the rotation has a value that is not finite", where.str());
  }
  const double error = deviation(matrix);
  if (!(error <= kRotationTolerance)) {
    fail("{}: not a rotation: the columns of its 3x3 part are not orthonormal (off by {:.3g})",
         where.str(), error);
  }
  if (determinant(matrix) < 0) {
    fail(
        "{}: not a rotation: its 3x3 part is a reflection (determinant -1); check the axes of the "
        "file",
        where.str());
  }
  // Every step squares the error. A matrix that is a rotation to rounding is not changed.
  constexpr double kRounding = 1e-14;
  Mat3 rotation = matrix;
  for (int step = 0; step < 4 && deviation(rotation) > kRounding; ++step) {
    rotation = towards_rotation(rotation);
  }
  return rotation;
}

Vec3 checked_position(const Vec3& position, const Where& where) {
  if (!std::isfinite(position.x) || !std::isfinite(position.y) || !std::isfinite(position.z)) {
    fail("{}: the position has a value that is not finite", where.str());
  }
  if (norm(position) > kFarthest) {
    fail("{}: the position is {:.3g} m from the origin, more than {:.0g} m; check the unit",
         where.str(), norm(position), kFarthest);
  }
  return position;
}

Pose pose_from_matrix(std::span<const double> v, const Where& where) {
  if (v.size() != 12 && v.size() != 16) {
    fail("{}: {} numbers; a pose is a 3x4 or a 4x4 matrix", where.str(), v.size());
  }
  if (v.size() == 16) {
    constexpr double kLastRow[] = {0, 0, 0, 1};
    for (int i = 0; i < 4; ++i) {
      if (!(std::abs(v[12 + i] - kLastRow[i]) <= 1e-6)) {
        fail("{}: the last row of a 4x4 pose must be 0 0 0 1", where.str());
      }
    }
  }
  const Mat3 matrix{{v[0], v[1], v[2], v[4], v[5], v[6], v[8], v[9], v[10]}};
  return {checked_rotation(matrix, where), checked_position({v[3], v[7], v[11]}, where)};
}

Pose pose_from_quaternion(const Quaternion& q, const Vec3& position, const Where& where) {
  const double length = std::sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
  if (!std::isfinite(length)) {
    fail("{}: the quaternion has a value that is not finite", where.str());
  }
  if (std::abs(length - 1) > kRotationTolerance) {
    fail("{}: not a rotation: the quaternion has length {:.4g}, expected 1", where.str(), length);
  }
  return {to_matrix(q), checked_position(position, where)};
}

void check_trajectory(const Trajectory& trajectory, std::string_view file) {
  if (trajectory.cameras.empty()) fail("{}: no poses", file);
  if (!(trajectory.fps > 0 && trajectory.fps <= 1e6)) {
    fail("{}: {} poses per second; expected a positive rate of at most 1e6", file, trajectory.fps);
  }
}

}  // namespace loci::camera
