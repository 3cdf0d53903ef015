// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/file.h"
#include "loci/camera/lens.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/eval/export/system_input.h"
#include "loci/eval/mind/mind_data.h"

#include "tests/base/expect_error.h"
#include "tests/eval/tiny_recording.h"
#include "tests/io/read_frames.h"

namespace loci::eval {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Export : public ::testing::Test {
 protected:
  Export() { make_tiny_recording(path("data/a"), 97, 1); }
  ~Export() override { fs::remove_all(folder_); }
  fs::path path(const std::string& name) const { return folder_ / name; }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("loci_export_test_" + std::to_string(::getpid()));
};

// Every system's files contain the poses of the clip, relative to the start of each file.
TEST_F(Export, WritesTheInputsOfEverySystem) {
  for (WorldSystem system : world_systems()) {
    SCOPED_TRACE(std::string(system.name));
    system.width = 64;
    system.height = 32;
    system.fps = 16;  // the rate of the recording
    ClipOptions options;
    options.context_seconds = 2;
    options.seconds = 2;
    const auto clips =
        open_data(path("data"), system_format(system), 0, system_options(system, options, false))
            .clips;
    const fs::path out = path(std::string(system.name));
    export_clip(system, *clips, 0, false, out);
    const fs::path folder = out / "a";
    EXPECT_EQ(io::read_frames(folder / "memory.mp4").sizes(), at::IntArrayRef({33, 32, 64, 3}));
    const Json about = load_json(folder / "clip.json");
    EXPECT_EQ(about["memory_frames"], 33);
    EXPECT_EQ(about["target_frames"], 32);
    EXPECT_EQ(about["prediction"], "a.mp4");
    const auto read = [&](const char* name) {
      return camera::read_trajectory(folder / (std::string(name) + std::string(system.file)));
    };
    const camera::Trajectory target = read("target-camera"), all = read("all-camera");
    EXPECT_NEAR(camera::norm(target.cameras.front().pose.position), 0, 1e-9);
    const int step = target.frames_per_pose;
    // The camera makes a full turn in 160 frames.
    const camera::Pose turned = target.cameras.front().pose.inverse() * target.cameras[4].pose;
    EXPECT_NEAR(std::abs(turned.yaw()), 4 * step * 2 * M_PI / 160, 1e-6);
    EXPECT_GE(all.cameras.size() * static_cast<size_t>(step), 65u);
    EXPECT_EQ(fs::exists(folder / "target-actions.json"), system.actions);
  }
  EXPECT_BAD_INPUT(find_system("locy"), HasSubstr("loci"));
}

TEST_F(Export, KeepsTheTimeBase) {
  const WorldSystem& system = find_system("hy-worldplay");
  EXPECT_EQ(system_options(system, {}, /*mind=*/true).stride, 1) << "24 of 24 frames per second";
  EXPECT_EQ(system_options(find_system("lingbot-world"), {}, true).stride, 1.5);
  EXPECT_FALSE(system_options(system, {}, false).stride.has_value());
  ClipOptions second;
  second.stride = 2;
  // Two recorded frames per frame at 16 frames per second.
  EXPECT_NEAR(system_options(system, second, false).stride.value(), 4. / 3, 1e-12);
}

TEST(Actions, FollowThePoses) {
  // Forward at half of the step per frame, then a turn at a third of the turn per frame.
  std::vector<camera::Pose> poses(1);
  for (int i = 0; i < 40; ++i) {
    poses.push_back(poses.back());
    poses.back().position.z += kActionStep / 2;
  }
  for (int i = 0; i < 30; ++i) {
    poses.push_back(poses.back());
    poses.back().rotation =
        poses.back().rotation * camera::rotation_from_angles(camera::radians(kActionTurn) / 3, 0);
  }
  const std::vector<SystemAction> actions = quantised_actions(poses);
  ASSERT_EQ(actions.size(), 70u);
  int forward = 0, turns = 0;
  for (const SystemAction& action : actions) {
    forward += action.forward;
    turns += action.yaw;
    EXPECT_EQ(action.right, 0);
    EXPECT_EQ(action.pitch, 0);
  }
  EXPECT_NEAR(forward, 20, 1);
  EXPECT_NEAR(turns, 10, 1);
  EXPECT_TRUE(quantised_actions({}).empty());
}

}  // namespace
}  // namespace loci::eval
