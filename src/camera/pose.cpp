// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/pose.h"

#include <algorithm>

namespace loci::camera {

Mat3 to_matrix(const Quaternion& q) {
  const double n = std::sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
  const double w = q.w / n, x = q.x / n, y = q.y / n, z = q.z / n;
  return {{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),  //
           2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),  //
           2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}};
}

Quaternion to_quaternion(const Mat3& r) {
  // Shepperd's method: divide by the largest of the four components.
  const double trace = r(0, 0) + r(1, 1) + r(2, 2);
  Quaternion q;
  if (trace > 0) {
    const double s = 2 * std::sqrt(1 + trace);
    q = {s / 4, (r(2, 1) - r(1, 2)) / s, (r(0, 2) - r(2, 0)) / s, (r(1, 0) - r(0, 1)) / s};
  } else if (r(0, 0) > r(1, 1) && r(0, 0) > r(2, 2)) {
    const double s = 2 * std::sqrt(1 + r(0, 0) - r(1, 1) - r(2, 2));
    q = {(r(2, 1) - r(1, 2)) / s, s / 4, (r(0, 1) + r(1, 0)) / s, (r(0, 2) + r(2, 0)) / s};
  } else if (r(1, 1) > r(2, 2)) {
    const double s = 2 * std::sqrt(1 + r(1, 1) - r(0, 0) - r(2, 2));
    q = {(r(0, 2) - r(2, 0)) / s, (r(0, 1) + r(1, 0)) / s, s / 4, (r(1, 2) + r(2, 1)) / s};
  } else {
    const double s = 2 * std::sqrt(1 + r(2, 2) - r(0, 0) - r(1, 1));
    q = {(r(1, 0) - r(0, 1)) / s, (r(0, 2) + r(2, 0)) / s, (r(1, 2) + r(2, 1)) / s, s / 4};
  }
  if (q.w < 0) q = {-q.w, -q.x, -q.y, -q.z};
  return q;
}

Quaternion slerp(const Quaternion& a, const Quaternion& b, double t) {
  double cosine = a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
  const double sign = cosine < 0 ? -1 : 1;
  cosine = std::min(1.0, cosine * sign);
  double from = 1 - t;
  double to = t;
  if (cosine < 1 - 1e-12) {  // otherwise linear weights are exact to rounding
    const double angle = std::acos(cosine);
    from = std::sin((1 - t) * angle) / std::sin(angle);
    to = std::sin(t * angle) / std::sin(angle);
  }
  to *= sign;
  return {from * a.w + to * b.w, from * a.x + to * b.x, from * a.y + to * b.y,
          from * a.z + to * b.z};
}

Mat3 rotation_from_angles(double yaw, double pitch, double roll) {
  const double cy = std::cos(yaw), sy = std::sin(yaw);
  const double cp = std::cos(pitch), sp = std::sin(pitch);
  const double cr = std::cos(roll), sr = std::sin(roll);
  const Mat3 about_vertical{{cy, 0, sy, 0, 1, 0, -sy, 0, cy}};
  const Mat3 upwards{{1, 0, 0, 0, cp, -sp, 0, sp, cp}};
  const Mat3 clockwise{{cr, -sr, 0, sr, cr, 0, 0, 0, 1}};
  return about_vertical * upwards * clockwise;
}

double Pose::roll() const {
  // Without yaw and pitch, the remaining rotation is about the viewing direction.
  const Mat3 rest = rotation_from_angles(yaw(), pitch()).transposed() * rotation;
  return std::atan2(rest(1, 0), rest(0, 0));
}

double angle_between(const Mat3& a, const Mat3& b) {
  const Mat3 turn = a.transposed() * b;
  // Near 0 and pi, acos loses precision; atan2 of sine and cosine does not.
  const Vec3 axis{turn(2, 1) - turn(1, 2), turn(0, 2) - turn(2, 0), turn(1, 0) - turn(0, 1)};
  return std::atan2(norm(axis), turn(0, 0) + turn(1, 1) + turn(2, 2) - 1);
}

Pose interpolate(const Pose& a, const Pose& b, double t) {
  return {to_matrix(slerp(to_quaternion(a.rotation), to_quaternion(b.rotation), t)),
          a.position * (1 - t) + b.position * t};
}

std::vector<Pose> relative_to_first(std::span<const Pose> poses) {
  std::vector<Pose> relative;
  if (poses.empty()) return relative;
  const Pose back = poses.front().inverse();
  relative.reserve(poses.size());
  for (const Pose& pose : poses) relative.push_back(back * pose);
  relative.front() = Pose{};
  return relative;
}

}  // namespace loci::camera
