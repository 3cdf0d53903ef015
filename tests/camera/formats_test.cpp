// SPDX-License-Identifier: Apache-2.0
// All formats: the same path, written by numpy and scipy, must be read identically from every
// format, and written files must be read back.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "loci/base/file.h"
#include "loci/camera/formats/mind.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/io/tensors/npy.h"

#include "paths.h"

namespace loci::camera {
namespace {

// The result of make_fixtures.py that every reader must find.
struct Expected {
  Trajectory frames;
  double fov;

  Expected() {
    const Json json = load_json(data("expected.json"));
    frames.fps = json["fps"];
    frames.width = json["width"];
    frames.height = json["height"];
    fov = radians(json["fov_deg"]);
    for (const Json& values : json["poses"]) {
      const Pose pose =
          pose_from_matrix(values.get<std::vector<double>>(), {"expected.json", "pose", 0});
      frames.cameras.push_back({pose, lens_from_fov(fov)});
    }
  }
};

struct Fixture {
  std::string file;
  const Format* format;
  double tolerance;  // metres and radians: float32 files and rounded text
  bool has_lens;
};

const std::vector<Fixture>& fixtures() {
  static const std::vector<Fixture> list = {
      {"loci.json", &kLociJson, 2e-6, true},
      {"re10k.txt", &kRealEstate10k, 1e-10, true},
      {"colmap", &kColmap, 1e-10, true},
      {"colmap/images.txt", &kColmap, 1e-10, true},
      {"tum.txt", &kTum, 1e-10, false},
      {"kitti.txt", &kKitti, 1e-8, false},
      {"transforms.json", &kNerfstudio, 1e-10, true},
      {"lingbot", &kNumpyPoses, 1e-6, true},
      {"lingbot/poses.npy", &kNumpyPoses, 1e-6, true},
      {"sana_pose.npy", &kNumpyPoses, 1e-12, true},
      {"sana.npz", &kSanaNpz, 1e-12, true},
      {"matrix_game.npz", &kMatrixGameNpz, 1e-6, true},
      {"worldplay.json", &kWorldPlay, 1e-12, true},
      {"mind_first", &kMind, 1e-12, false},
      {"mind_third/action.json", &kMind, 1e-12, false},
  };
  return list;
}

TEST(Formats, ReadFilesOfOtherTools) {
  const Expected expected;
  const Trajectory latents = latent_poses(expected.frames);
  ReadOptions options;
  options.fov_x = radians(33);  // used only for files without a lens
  options.video_fps = 16;
  for (const Fixture& fixture : fixtures()) {
    SCOPED_TRACE(fixture.file);
    const LoadedTrajectory loaded = load_trajectory(data(fixture.file), options);
    const Trajectory& path = loaded.trajectory;
    EXPECT_EQ(loaded.format, fixture.format) << "recognised as " << loaded.format->name;
    EXPECT_EQ(path.frames_per_pose, fixture.format->one_pose_per_latent ? 4 : 1);
    EXPECT_DOUBLE_EQ(path.video_fps(), 16);
    expect_near(poses_of(path.cameras),
                poses_of((path.frames_per_pose == 4 ? latents : expected.frames).cameras),
                fixture.tolerance, fixture.file);
    for (const auto& [pose, lens] : path.cameras) {
      EXPECT_NEAR(lens.fov_x, fixture.has_lens ? expected.fov : radians(33), 1e-7);
    }
    if (fixture.has_lens && fixture.format != &kLociJson && fixture.format != &kRealEstate10k) {
      EXPECT_EQ(path.width, 640);
      EXPECT_EQ(path.height, 360);
    }
  }
}

// Checks the convention explicitly, to detect errors that fixtures and readers have in common.
TEST(Formats, AgreeOnTheDirectionsOfMotion) {
  for (const Fixture& fixture : fixtures()) {
    SCOPED_TRACE(fixture.file);
    const Trajectory path = read_trajectory(data(fixture.file));
    const int stride = path.frames_per_pose;
    const Pose& start = path.cameras[0].pose;
    const Pose& ahead = path.cameras[4 / stride].pose;
    const Pose& turned = path.cameras[8 / stride].pose;
    const Pose& last = path.cameras[12 / stride].pose;
    EXPECT_NEAR(norm(ahead.position - start.position), 1, 1e-5);
    EXPECT_NEAR(dot(ahead.position - start.position, start.forward()), 1, 1e-5);
    EXPECT_NEAR(dot(turned.forward(), start.right()), 1, 1e-5) << "must turn right";
    EXPECT_NEAR(dot(turned.right(), start.forward()), -1, 1e-5);
    EXPECT_NEAR(turned.down().y, 1, 1e-5) << "y must point down";
    EXPECT_NEAR(last.position.y, -0.3, 1e-5) << "must move up";
    EXPECT_NEAR(last.forward().y, -std::sin(radians(20)), 1e-5) << "must look up";
    EXPECT_GT(last.right().y, 0.1) << "must roll clockwise: the right side moves down";
  }
}

// A path with everything that `format` can store.
Trajectory sample_for(const Format& format) {
  if (&format == &kKeyString) return read_key_string("w-3,wd-4,right+up-5,none-2,s+left-3");
  Trajectory path = wandering_path(21, 3, /*zoom=*/true);
  if (&format == &kLociJson) path.cameras = relative_to_first(path.cameras);
  return format.one_pose_per_latent ? latent_poses(path) : path;
}

TEST(Formats, EveryFormatRoundTrips) {
  const Scratch scratch;
  for (const Format* format : formats()) {
    SCOPED_TRACE(format->name);
    const Trajectory path = sample_for(*format);
    const auto file = scratch / std::string(format->name);
    write_trajectory(file, path, *format);
    ReadOptions options;
    options.video_fps = 16;
    options.size = {path.width, path.height};
    const LoadedTrajectory loaded = load_trajectory(file, options);
    EXPECT_EQ(loaded.format, format) << loaded.format->name;
    expect_near(poses_of(loaded.trajectory.cameras), poses_of(path.cameras), 1e-9,
                std::string(format->name));
    EXPECT_NEAR(loaded.trajectory.fps, path.fps, 1e-9);
    EXPECT_EQ(loaded.trajectory.frames_per_pose, path.frames_per_pose);
    const bool lensless =
        format == &kTum || format == &kKitti || format == &kMind || format == &kKeyString;
    for (size_t i = 0; i < path.cameras.size() && !lensless; ++i) {
      EXPECT_NEAR(loaded.trajectory.cameras[i].lens.fov_x, path.cameras[i].lens.fov_x, 1e-9);
      if (format == &kLociJson) {  // cannot store changing matrices
        EXPECT_FALSE(loaded.trajectory.cameras[i].lens.normalised);
        continue;
      }
      const Pinhole expected = *path.cameras[i].lens.normalised;
      for (int k = 0; k < 4; ++k) {
        EXPECT_NEAR((*loaded.trajectory.cameras[i].lens.normalised)[k], expected[k], 1e-9);
      }
    }
  }
}

TEST(Formats, LociFilesKeepXiAndRate) {
  const Scratch scratch;
  Trajectory path = latent_poses(wandering_path(21, 4));
  path.cameras = relative_to_first(path.cameras);
  path.fps = 6;
  for (Camera& camera : path.cameras) camera.lens = lens_from_fov(radians(140), 0.7);
  path.cameras[2].lens.xi = 0.8;
  write_trajectory(scratch / "xi.json", path, kLociJson);
  const Trajectory back = read_trajectory(scratch / "xi.json");
  EXPECT_DOUBLE_EQ(back.video_fps(), 24);
  EXPECT_EQ(back.cameras[1].lens.xi, 0.7);
  EXPECT_EQ(back.cameras[2].lens.xi, 0.8);
  EXPECT_NEAR(back.cameras[2].lens.fov_x, radians(140), 1e-12);
  EXPECT_FALSE(back.cameras[0].lens.normalised.has_value());
  // At the default rate the file has no other keys than LOCI's.
  path.fps = 4;
  write_trajectory(scratch / "plain.json", path, kLociJson);
  const Json plain = load_json(scratch / "plain.json");
  EXPECT_EQ(plain.size(), 3u);
  EXPECT_TRUE(plain.contains("x_fov_deg") && plain.contains("xi") && plain.contains("c2w"));
  // Other formats cannot store xi.
  for (const Format* format : {&kRealEstate10k, &kColmap, &kNerfstudio, &kNumpyPoses, &kSanaNpz}) {
    EXPECT_THAT(refusal([&] { write_trajectory(scratch / "x", path, *format); }),
                ::testing::HasSubstr("xi = 0.7"));
  }
}

TEST(Formats, ReadNumpyLensesOfAllShapes) {
  const Scratch scratch;
  const at::Tensor poses = io::read_npy(data("lingbot/poses.npy"));
  const int64_t frames = poses.size(0);
  const at::Tensor four = at::tensor({400.0, 420.0, 320.0, 180.0}, at::kDouble);
  const at::Tensor three =
      at::tensor({400.0, 0.0, 320.0, 0.0, 420.0, 180.0, 0.0, 0.0, 1.0}, at::kDouble).view({3, 3});
  io::write_npy(scratch / "a_poses.npy", poses);
  for (const at::Tensor& lens :
       {four, three, four.expand({frames, 4}), three.expand({frames, 3, 3}), four.view({1, 4}),
        three.view({1, 3, 3}), four.to(at::kFloat), four.to(at::kLong)}) {
    io::write_npy(scratch / "a_intrinsics.npy", lens);
    const Trajectory path = read_trajectory(scratch / "a_poses.npy");
    ASSERT_EQ(path.cameras.size(), static_cast<size_t>(frames));
    const Pinhole& n = *path.cameras.back().lens.normalised;
    EXPECT_DOUBLE_EQ(n[0], 400.0 / 640);
    EXPECT_DOUBLE_EQ(n[1], 420.0 / 360);
    EXPECT_EQ(path.width, 640);
  }
  // The size of a cropped image is not twice its centre.
  ReadOptions options;
  options.size = {800, 400};
  EXPECT_DOUBLE_EQ(
      (*read_trajectory(scratch / "a_poses.npy", options).cameras[0].lens.normalised)[0], 0.5);
  // A file of lenses in another place, and inverted matrices.
  io::write_npy(scratch / "elsewhere.npy", four * 2);
  options = {};
  options.intrinsics = scratch / "elsewhere.npy";
  EXPECT_EQ(read_trajectory(scratch / "a_poses.npy", options).width, 1280);
  options.world_to_camera = true;
  const Trajectory inverted = read_trajectory(scratch / "a_poses.npy", options);
  const Trajectory straight = read_trajectory(scratch / "a_poses.npy");
  expect_near(inverted.cameras[7].pose, straight.cameras[7].pose.inverse(), 1e-12, "w2c");
  // Normalised matrices do not imply an image size.
  io::write_npy(scratch / "a_intrinsics.npy", at::tensor({0.7, 1.2, 0.5, 0.5}, at::kDouble));
  const Trajectory normalised = read_trajectory(scratch / "a_poses.npy");
  EXPECT_EQ(normalised.width, 0);
  EXPECT_DOUBLE_EQ((*normalised.cameras[0].lens.normalised)[1], 1.2);
  options = {};
  options.size = {640, 360};
  EXPECT_DOUBLE_EQ(
      (*read_trajectory(scratch / "a_poses.npy", options).cameras[0].lens.normalised)[0], 0.7);
}

TEST(Formats, MindSeparatesActorAndCamera) {
  const MindClip first = read_mind_clip(Source(data("mind_first/action.json")));
  EXPECT_FALSE(first.third_person);
  EXPECT_EQ(first.mark_time, 5);
  EXPECT_EQ(first.total_time, 13);
  EXPECT_EQ(first.caption, "a test");
  EXPECT_EQ(first.actions[2], (MindAction{.ws = 1}));
  EXPECT_EQ(first.actions[6], (MindAction{.lr = 2}));
  const MindClip third = read_mind_clip(Source(data("mind_third/action.json")));
  EXPECT_TRUE(third.third_person);
  expect_near(third.camera, first.camera, 1e-12, "camera");
  EXPECT_NEAR(third.actor[0].position.z, 3, 1e-12) << "the character must be 3 m ahead";
  ReadOptions options;
  options.actor = true;
  const Trajectory actor = read_trajectory(data("mind_third"), options);
  EXPECT_NEAR(actor.cameras[0].pose.position.z, 3, 1e-12);
  EXPECT_DOUBLE_EQ(actor.fps, 24);

  // Written files contain the actions of the motion.
  const Scratch scratch;
  ReadOptions keys;
  keys.video_fps = 24;
  write_trajectory(scratch / "action.json", read_key_string("w-3,a-2,right-2,up-2,none-1", keys),
                   kMind);
  const MindClip written = read_mind_clip(Source(scratch / "action.json"));
  EXPECT_EQ(written.actions[0], (MindAction{.ws = 1}));
  EXPECT_EQ(written.actions[3], (MindAction{.ad = 1}));
  EXPECT_EQ(written.actions[5], (MindAction{.lr = 2}));
  EXPECT_EQ(written.actions[7], (MindAction{.ud = 1}));
  EXPECT_EQ(written.actions[9], MindAction{});
}

TEST(Formats, TimesSetTheRateAndUnevenTimesAreResampled) {
  const Scratch scratch;
  // NTSC rate in whole microseconds; a path of constant speed.
  std::string text = "https://example.com\n", uneven;
  for (int i = 0; i < 30; ++i) {
    text += fmt::format("{} 1 1 0.5 0.5 0 0 1 0 0 0 0 1 0 0 0 0 1 {}\n",
                        std::llround(i * 1001e6 / 30000), -0.1 * i);
    const double time = 5 + i * 0.1 + (i % 3 == 1 ? 0.04 : 0);
    uneven += fmt::format("{} 0 0 {} 0 0 0 1\n", time, time);
  }
  write_file(scratch / "ntsc.txt", text);
  EXPECT_DOUBLE_EQ(read_trajectory(scratch / "ntsc.txt").fps, 30000.0 / 1001);
  write_file(scratch / "uneven.txt", uneven);
  const Trajectory even = read_trajectory(scratch / "uneven.txt");
  ASSERT_EQ(even.cameras.size(), 30u);
  EXPECT_DOUBLE_EQ(even.fps, 10);
  for (size_t i = 0; i < 30; ++i) {
    EXPECT_NEAR(even.cameras[i].pose.position.z, 5 + 0.1 * static_cast<double>(i), 1e-9);
  }
}

TEST(Formats, ReadCameraModelsOfColmapAndNerfstudio) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "model");
  const auto read_model = [&](const std::string& camera) {
    write_file(scratch / "model/cameras.txt", camera + "\n");
    write_file(scratch / "model/images.txt", "1 1 0 0 0 0 0 0 1 a.png\n\n");
    return read_trajectory(scratch / "model").cameras[0].lens;
  };
  EXPECT_NEAR(read_model("1 SIMPLE_PINHOLE 200 100 100 100 50").fov_x, radians(90), 1e-12);
  EXPECT_EQ((*read_model("1 PINHOLE 200 100 100 110 90 50").normalised),
            (Pinhole{0.5, 1.1, 0.45, 0.5}));
  EXPECT_NEAR(read_model("1 SIMPLE_RADIAL 200 100 100 100 50 0.1").fov_x, radians(90), 1e-12);
  EXPECT_NEAR(read_model("1 OPENCV 200 100 100 100 100 50 0 0 0 0").fov_x, radians(90), 1e-12);
  EXPECT_THAT(refusal([&] { read_model("1 OPENCV_FISHEYE 200 100 9 9 100 50 0 0 0 0"); }),
              ::testing::HasSubstr("OPENCV_FISHEYE is not supported; expected one of SIMPLE_"));

  const auto read_transforms = [&](const std::string& lens) {
    write_file(scratch / "t.json", "{" + lens +
                                       R"("frames": [{"transform_matrix":
        [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}]})");
    return read_trajectory(scratch / "t.json");
  };
  EXPECT_NEAR(read_transforms(R"("camera_angle_x": 1.2, )").cameras[0].lens.fov_x, 1.2, 1e-12);
  EXPECT_NEAR(read_transforms("").cameras[0].lens.fov_x, radians(90), 1e-12);
  EXPECT_NEAR(
      read_transforms(R"("fl_x": 100, "cx": 100, "cy": 60, "k1": 0.1, )").cameras[0].lens.fov_x,
      radians(90), 1e-12);
  EXPECT_EQ(read_transforms(R"("fl_x": 100, "w": 200, "h": 100, )").width, 200);
  EXPECT_THAT(refusal([&] { read_transforms(R"("fl_x": 100, )"); }),
              ::testing::HasSubstr("--size"));
  EXPECT_THAT(refusal([&] { read_transforms(R"("camera_model": "OPENCV_FISHEYE", )"); }),
              ::testing::HasSubstr("OPENCV_FISHEYE is not supported; expected a perspective"));
}

}  // namespace
}  // namespace loci::camera
