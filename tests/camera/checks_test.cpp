// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/checks.h"

#include <gmock/gmock.h>

#include "loci/camera/formats/source.h"

#include "paths.h"

namespace loci::camera {
namespace {

using ::testing::HasSubstr;

const Where kHere{"path.txt", "line", 7};

TEST(Checks, CorrectsRotationsAndRejectsOtherMatrices) {
  const Mat3 exact = rotation_from_angles(0.3, -0.7, 1.1);
  EXPECT_EQ(checked_rotation(exact, kHere), exact);

  Mat3 rounded = exact;
  for (double& v : rounded.m) v = std::round(v * 1e4) / 1e4;
  const Mat3 repaired = checked_rotation(rounded, kHere);
  EXPECT_LT(angle_between(repaired, exact), 1e-4);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      EXPECT_NEAR(dot(repaired.column(i), repaired.column(j)), i == j, 1e-14);
    }
  }

  Mat3 scaled = exact;
  for (double& v : scaled.m) v *= 1.02;
  EXPECT_THAT(refusal([&] { checked_rotation(scaled, kHere); }),
              HasSubstr("path.txt: line 7: not a rotation"));
  Mat3 mirrored = exact;
  for (int row = 0; row < 3; ++row) mirrored(row, 0) *= -1;
  EXPECT_THAT(refusal([&] { checked_rotation(mirrored, kHere); }), HasSubstr("determinant -1"));
  Mat3 broken = exact;
  broken(1, 1) = std::nan("");
  EXPECT_THAT(refusal([&] { checked_rotation(broken, kHere); }), HasSubstr("not finite"));
  EXPECT_THAT(refusal([&] { checked_rotation(Mat3{{}}, kHere); }), HasSubstr("not orthonormal"));
}

TEST(Checks, ValidatesMatricesQuaternionsAndPositions) {
  const std::vector<double> rows = {1, 0, 0, 2, 0, 1, 0, 3, 0, 0, 1, 4, 0, 0, 0, 1};
  EXPECT_EQ(pose_from_matrix(rows, kHere).position, (Vec3{2, 3, 4}));
  EXPECT_EQ(pose_from_matrix(std::span(rows).first(12), kHere).position, (Vec3{2, 3, 4}));
  EXPECT_THAT(refusal([&] { pose_from_matrix(std::span(rows).first(9), kHere); }),
              HasSubstr("9 numbers"));
  std::vector<double> projective = rows;
  projective[14] = 0.1;
  EXPECT_THAT(refusal([&] { pose_from_matrix(projective, kHere); }), HasSubstr("0 0 0 1"));
  std::vector<double> endless = rows;
  endless[7] = HUGE_VAL;
  EXPECT_THAT(refusal([&] { pose_from_matrix(endless, kHere); }), HasSubstr("not finite"));
  endless[7] = 1e12;
  EXPECT_THAT(refusal([&] { pose_from_matrix(endless, kHere); }), HasSubstr("check the unit"));

  const double half = std::numbers::pi / 4;  // 90 degrees to the right
  const Pose pose = pose_from_quaternion({std::cos(half) * 1.001, 0, std::sin(half) * 1.001, 0},
                                         {1, 2, 3}, kHere);
  EXPECT_NEAR(pose.forward().x, 1, 1e-12);
  EXPECT_THAT(refusal([&] {
                pose_from_quaternion({0, 0, 0, 0}, {}, kHere);
              }),
              HasSubstr("length 0"));
  EXPECT_THAT(refusal([&] {
                pose_from_quaternion({NAN, 0, 0, 0}, {}, kHere);
              }),
              HasSubstr("not finite"));
}

TEST(Checks, AnglesOfAPoseReproduceIt) {
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    const double yaw = random.uniform(-3.1, 3.1), pitch = random.uniform(-1.5, 1.5);
    const double roll = random.uniform(-3.1, 3.1);
    const Pose pose{rotation_from_angles(yaw, pitch, roll), {}};
    EXPECT_NEAR(pose.yaw(), yaw, 1e-9);
    EXPECT_NEAR(pose.pitch(), pitch, 1e-9);
    EXPECT_NEAR(pose.roll(), roll, 1e-9);
  }
  const Pose down{rotation_from_angles(0.4, -std::numbers::pi / 2, 0.2), {}};
  EXPECT_LT(
      angle_between(rotation_from_angles(down.yaw(), down.pitch(), down.roll()), down.rotation),
      1e-7);
}

TEST(Checks, OrdersNamesByTheirNumbers) {
  const std::vector<std::string> ordered = {"",     "a",    "f1",   "f2", "f010",
                                            "f11b", "f11c", "f100", "g"};
  for (size_t i = 0; i < ordered.size(); ++i) {
    for (size_t j = 0; j < ordered.size(); ++j) {
      EXPECT_EQ(natural_less(ordered[i], ordered[j]), i < j) << ordered[i] << " " << ordered[j];
    }
  }
}

}  // namespace
}  // namespace loci::camera
