// SPDX-License-Identifier: Apache-2.0
// Paths, folders and comparisons for the tests of src/camera.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "loci/base/error.h"
#include "loci/base/random.h"
#include "loci/camera/lens.h"
#include "loci/camera/trajectory.h"

namespace loci::camera {

inline std::filesystem::path data(const std::string& name) {
  return std::filesystem::path(LOCI_TEST_DATA) / "camera" / name;
}

// A new folder that the destructor deletes.
class Scratch {
 public:
  Scratch() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string("loci_") + test->test_suite_name() + "_" + test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

// The message of the bad-input error that `act` throws; "" if it throws none.
template <typename Act>
std::string refusal(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "";
}

inline void expect_near(const Pose& actual, const Pose& expected, double tolerance,
                        const std::string& what) {
  EXPECT_LE(norm(actual.position - expected.position), tolerance) << what;
  EXPECT_LE(angle_between(actual.rotation, expected.rotation), tolerance) << what;
}

inline void expect_near(const std::vector<Pose>& actual, const std::vector<Pose>& expected,
                        double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    expect_near(actual[i], expected[i], tolerance, what + ", pose " + std::to_string(i));
  }
}

// A random path that looks in all directions. With `zoom` the lenses change with time.
inline Trajectory wandering_path(size_t count, uint64_t seed, bool zoom = false) {
  Random random(seed);
  Trajectory path;
  path.width = 640;
  path.height = 360;
  Vec3 position{random.normal(), random.normal(), random.normal()};
  double yaw = random.uniform(-3, 3), pitch = 0, roll = 0;
  for (size_t i = 0; i < count; ++i) {
    position = position + Vec3{random.normal(), random.normal(), random.normal()} * 0.05;
    yaw += 0.2 * random.normal();
    pitch = 0.8 * pitch + 0.2 * random.normal();
    roll = 0.8 * roll + 0.1 * random.normal();
    const Pose pose{rotation_from_angles(yaw, pitch, roll), position};
    const double fx = 0.8 + (zoom ? 0.01 * static_cast<double>(i) : 0);
    path.cameras.push_back(
        {pose, lens_from_normalised({fx, fx * 640 / 360, 0.5, 0.5}, {"", "", 0})});
  }
  return path;
}

}  // namespace loci::camera
