// SPDX-License-Identifier: Apache-2.0
// Poses in this project's only convention: camera-to-world, OpenCV axes (x right, y down, z
// forward), metres. Readers and writers of file formats convert to and from it.
#pragma once

#include <array>
#include <cmath>
#include <span>
#include <vector>

namespace loci::camera {

struct Vec3 {
  double x = 0, y = 0, z = 0;

  Vec3 operator+(const Vec3& o) const { return {x + o.x, y + o.y, z + o.z}; }
  Vec3 operator-(const Vec3& o) const { return {x - o.x, y - o.y, z - o.z}; }
  Vec3 operator*(double s) const { return {x * s, y * s, z * s}; }
  Vec3 operator-() const { return {-x, -y, -z}; }
  bool operator==(const Vec3&) const = default;
};

inline double dot(const Vec3& a, const Vec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double norm(const Vec3& a) { return std::sqrt(dot(a, a)); }
inline Vec3 normalise(const Vec3& a) { return a * (1 / norm(a)); }

// Row-major 3x3 matrix.
struct Mat3 {
  std::array<double, 9> m = {1, 0, 0, 0, 1, 0, 0, 0, 1};

  double operator()(int row, int column) const { return m[3 * row + column]; }
  double& operator()(int row, int column) { return m[3 * row + column]; }
  Vec3 row(int i) const { return {m[3 * i], m[3 * i + 1], m[3 * i + 2]}; }
  Vec3 column(int i) const { return {m[i], m[3 + i], m[6 + i]}; }
  static Mat3 from_columns(const Vec3& a, const Vec3& b, const Vec3& c) {
    return {{a.x, b.x, c.x, a.y, b.y, c.y, a.z, b.z, c.z}};
  }
  Mat3 transposed() const { return {{m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]}}; }
  Vec3 operator*(const Vec3& v) const { return {dot(row(0), v), dot(row(1), v), dot(row(2), v)}; }
  Mat3 operator*(const Mat3& o) const {
    return from_columns(*this * o.column(0), *this * o.column(1), *this * o.column(2));
  }
  bool operator==(const Mat3&) const = default;
};

// Unit quaternion, w first.
struct Quaternion {
  double w = 1, x = 0, y = 0, z = 0;
};

Mat3 to_matrix(const Quaternion& q);             // normalises first
Quaternion to_quaternion(const Mat3& rotation);  // w >= 0
// Shortest arc from a (t = 0) to b (t = 1).
Quaternion slerp(const Quaternion& a, const Quaternion& b, double t);

// Camera-to-world rotation, radians: yaw turns right about the vertical, then pitch turns up, then
// roll turns clockwise. Up in the world is (0, -1, 0).
Mat3 rotation_from_angles(double yaw, double pitch, double roll = 0);

// Camera to world: world = rotation * camera + position.
struct Pose {
  Mat3 rotation;
  Vec3 position;

  Vec3 right() const { return rotation.column(0); }
  Vec3 down() const { return rotation.column(1); }
  Vec3 forward() const { return rotation.column(2); }
  // Angles of rotation_from_angles; yaw in (-pi, pi].
  double yaw() const { return std::atan2(forward().x, forward().z); }
  double pitch() const { return std::atan2(-forward().y, std::hypot(forward().x, forward().z)); }
  // The third angle of rotation_from_angles. Yaw and roll are not unique if the camera looks
  // straight up or down.
  double roll() const;

  Pose operator*(const Pose& o) const {
    return {rotation * o.rotation, rotation * o.position + position};
  }
  Pose inverse() const {
    const Mat3 back = rotation.transposed();
    return {back, -(back * position)};
  }
  bool operator==(const Pose&) const = default;
};

// Angle of the rotation that takes a to b, radians in [0, pi].
double angle_between(const Mat3& a, const Mat3& b);

// The pose at share t of the way from a to b: linear in position, slerp in rotation.
Pose interpolate(const Pose& a, const Pose& b, double t);

// inv(first) * pose for every pose. The first becomes the identity.
std::vector<Pose> relative_to_first(std::span<const Pose> poses);

}  // namespace loci::camera
