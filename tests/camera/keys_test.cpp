// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/path/keys.h"

#include <gmock/gmock.h>

#include "loci/base/file.h"
#include "loci/camera/path/trajectory_io.h"

#include "paths.h"

namespace loci::camera {
namespace {

TEST(Keys, ParsesKeyNames) {
  const auto keys = [](const char* text) { return parse_keys(text, "test"); };
  EXPECT_EQ(keys("w"), (Keys{.forward = 1}));
  EXPECT_EQ(keys("s"), (Keys{.forward = -1}));
  EXPECT_EQ(keys("a"), (Keys{.right = -1})) << "a moves left and does not turn";
  EXPECT_EQ(keys("d"), (Keys{.right = 1}));
  EXPECT_EQ(keys("wd"), (Keys{.forward = 1, .right = 1}));
  EXPECT_EQ(keys("W+Left"), (Keys{.forward = 1, .yaw = -1}));
  EXPECT_EQ(keys("wleft"), keys("w+left"));
  EXPECT_EQ(keys("down"), (Keys{.pitch = -1})) << "must not be parsed as d";
  EXPECT_EQ(keys("l"), keys("right"));
  EXPECT_EQ(keys("j"), keys("left"));
  EXPECT_EQ(keys("i"), keys("up"));
  EXPECT_EQ(keys("k"), keys("down"));
  EXPECT_EQ(keys("ws"), Keys{}) << "opposite keys cancel";
  EXPECT_EQ(keys("none"), Keys{});
  EXPECT_EQ(keys("stay"), Keys{});
  for (int code = 0; code < 81; ++code) {
    const Keys all{code % 3 - 1, code / 3 % 3 - 1, code / 9 % 3 - 1, code / 27 - 1};
    EXPECT_EQ(parse_keys(to_string(all), "test"), all) << to_string(all);
  }
}

TEST(Keys, ParsesStringsOfKeysAndFrames) {
  const std::vector<KeyStep> steps = parse_key_string(" w-12, left-8,wd-5,none-4 ", 16);
  EXPECT_EQ(steps,
            (std::vector<KeyStep>{
                {{.forward = 1}, 12}, {{.yaw = -1}, 8}, {{.forward = 1, .right = 1}, 5}, {{}, 4}}));
  EXPECT_EQ(format_key_string(steps), "w-12,left-8,wd-5,none-4");
  EXPECT_EQ(parse_key_string("w-1.5s", 16)[0].frames, 24);
  EXPECT_EQ(format_key_string({{{.forward = 1}, 2}, {{.forward = 1}, 3}}), "w-5");
  for (const char* text : {"w-12", "w-12,left-8", "W+left-3", "none-1s", "xyz-5"}) {
    EXPECT_TRUE(looks_like_key_string(text)) << text;
  }
  for (const char* text : {"", "w", "-3", "w-", "path-1/file.json", "clip-12.json", "3-4", "a-b"}) {
    EXPECT_FALSE(looks_like_key_string(text)) << text;
  }
}

TEST(Keys, MoveAtTheDocumentedSpeeds) {
  // 16 frames are one second: 1 m forward, then 90 degrees to the right in 3 s.
  std::vector<Pose> path = key_path(parse_key_string("w-16,right-48", 16), {}, 16);
  ASSERT_EQ(path.size(), 65u);
  EXPECT_EQ(path.front(), Pose{});
  expect_near(path.back(), {rotation_from_angles(radians(90), 0), {0, 0, 1}}, 1e-12, "end");

  path = key_path(parse_key_string("d-16", 16), {}, 16);
  expect_near(path.back(), {Mat3{}, {1, 0, 0}}, 1e-12, "strafe");
  path = key_path(parse_key_string("wd-16", 16), {}, 16);
  EXPECT_NEAR(norm(path.back().position), 1, 1e-12) << "diagonal motion must not be faster";
  path = key_path(parse_key_string("up-32,w-16", 16), {}, 16);
  EXPECT_NEAR(path.back().pitch(), radians(60), 1e-12);
  EXPECT_NEAR(path.back().position.y, 0, 1e-12) << "must stay in the plane";
  path = key_path(parse_key_string("down-100", 16), {}, 16);
  EXPECT_NEAR(path.back().pitch(), -radians(60), 1e-12) << "must stop at the limit";
  path = key_path(parse_key_string("w-30", 30), {.move = 2, .turn = 1}, 30);
  EXPECT_NEAR(path.back().position.z, 2, 1e-12);

  // Moving forward while turning: a circle of radius speed / turn rate, to second order in the
  // step.
  path = key_path(parse_key_string("w+right-192", 16), {}, 16);
  expect_near(path.back(), Pose{}, 1e-9, "a full circle");
  EXPECT_NEAR(path[96].position.x, 2 * 6 / std::numbers::pi, 2e-3);

  KeyCamera camera;
  const Pose elsewhere{rotation_from_angles(0.5, 0.1), {1, 2, 3}};
  camera.set_pose(elsewhere);
  expect_near(camera.pose(), elsewhere, 1e-12, "set");
  expect_near(camera.advance({}, 1), elsewhere, 1e-12, "waits");
}

TEST(Keys, RoundTripThroughPaths) {
  const std::string text = "w-12,left-8,wd-5,none-4,sa+right+up-30,down-90,w-2";
  const std::vector<Pose> path = key_path(parse_key_string(text, 16), {}, 16);
  const std::vector<KeyStep> steps = keys_of_path(path, {}, 16);
  expect_near(key_path(steps, {}, 16), path, 1e-9, text);
  EXPECT_THAT(format_key_string(steps), ::testing::StartsWith("w-12,left-8,wd-5,none-4,"));
  EXPECT_THAT(refusal([&] { keys_of_path(path, {.move = 2}, 16); }),
              ::testing::HasSubstr("frame 1: no keys cause this motion"));

  const Scratch scratch;
  write_file(scratch / "keys.txt", "# a walk\nw-12,left-8,\nwd-5\nnone-4\n");
  const LoadedTrajectory loaded = load_trajectory(scratch / "keys.txt");
  EXPECT_EQ(loaded.format, &kKeyString);
  EXPECT_EQ(loaded.trajectory.cameras.size(), 30u);
}

}  // namespace
}  // namespace loci::camera
