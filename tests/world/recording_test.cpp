// SPDX-License-Identifier: Apache-2.0
#include "loci/world/recording/recording.h"

#include <unistd.h>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/camera/path/presets.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/io/media/frames.h"
#include "loci/io/tensors/npy.h"
#include "loci/world/clip/record.h"

#include "tests/base/expect_error.h"

namespace loci::world {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RecordingTest : public ::testing::Test {
 protected:
  RecordingTest()
      : folder_(fs::path(::testing::TempDir()) / fmt::format("loci_recording_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RecordingTest() override { fs::remove_all(folder_); }

  // Frames whose brightness is their number.
  void write_video(const std::string& name, int64_t frames, double fps, int64_t width = 48,
                   int64_t height = 32) const {
    io::VideoOptions options;
    options.fps = fps;
    options.lossless = true;
    const at::Tensor video = (at::arange(frames) * 2)
                                 .to(at::kByte)
                                 .view({frames, 1, 1, 1})
                                 .expand({frames, height, width, 3})
                                 .contiguous();
    io::write_video(folder_ / name, video, options);
  }

  // A straight path at 1 m/s.
  static camera::Trajectory straight(int64_t poses, double fps) {
    camera::Trajectory path;
    path.fps = fps;
    for (int64_t i = 0; i < poses; ++i) {
      camera::Pose pose;
      pose.position = {0, 0, static_cast<double>(i) / fps};
      path.cameras.push_back({pose, camera::lens_from_fov(1.2)});
    }
    return path;
  }

  fs::path folder_;
};

TEST_F(RecordingTest, ReadsRecordedScenes) {
  RecordOptions options;
  options.count = 2;
  options.clip.frames = 9;
  options.clip.width = 32;
  options.clip.height = 24;
  options.clip.fov = 150;
  options.clip.xi = 0.6;
  options.video = RecordOptions::Video::kLossless;
  record(folder_, options);
  const std::vector<RecordingFiles> found = find_recordings(folder_);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].name, "clips/000001");
  RecordingOptions read;
  read.width = 32;
  read.height = 24;
  const Recording recording(found[1], read);
  ASSERT_EQ(recording.frame_count(), 9);
  const Clip made = make_clip(options.seed, 1, options.clip), again = recording.read(2, 5);
  EXPECT_TRUE(at::equal(again.frames, made.frames.narrow(0, 2, 5)));
  EXPECT_EQ(again.caption, made.caption);
  EXPECT_NEAR(again.trajectory.cameras[0].lens.fov_x, made.trajectory.cameras[0].lens.fov_x, 1e-8);
  EXPECT_EQ(again.trajectory.cameras[0].lens.xi, 0.6);
  EXPECT_LT(camera::norm(again.trajectory.cameras[4].pose.position -
                         made.trajectory.cameras[6].pose.position),
            1e-9);
}

TEST_F(RecordingTest, ReadsFilesSideBySideAtOtherRates) {
  // A video at 24 frames per second with a TUM file at 30, and a video with a LOCI path of latents.
  write_video("street.mp4", 48, 24);
  camera::write_trajectory(folder_ / "street.camera.txt", straight(60, 30), camera::kTum);
  write_file(folder_ / "street.txt", "a street\n");
  write_video("yard.mp4", 33, 16, 64, 32);
  camera::write_trajectory(folder_ / "yard.json", camera::latent_poses(straight(33, 16)),
                           camera::kLociJson);
  const std::vector<RecordingFiles> found = find_recordings(folder_);
  ASSERT_EQ(found.size(), 2u);
  RecordingOptions options;
  options.width = 48;
  options.height = 32;
  const Recording street(found[0], options);
  EXPECT_EQ(street.name(), "street");
  EXPECT_EQ(street.frame_count(), 32);  // 2 s at 16
  const Clip clip = street.read(10, 4);
  EXPECT_EQ(clip.caption, "a street");
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t source = std::llround((10 + static_cast<double>(i)) * 1.5);
    EXPECT_EQ(clip.frames[i][5][5][0].item<int>(), 2 * source);
    EXPECT_NEAR(clip.trajectory.cameras[static_cast<size_t>(i)].pose.position.z,
                static_cast<double>(source) / 24, 1e-6);
  }
  // Cropping 64x32 to 48x32 keeps three quarters of the width.
  const Recording yard(found[1], options);
  EXPECT_EQ(yard.frame_count(), 33);
  EXPECT_NEAR(std::tan(yard.trajectory().cameras[0].lens.fov_x / 2), 0.75 * std::tan(0.6), 1e-9);
  EXPECT_EQ(yard.read(0, 1).caption, "");

  // Pieces: 32 and 33 frames contain two pieces of 15 frames each.
  options.frames = 15;
  const RecordingPieces pieces(folder_, options);
  ASSERT_EQ(pieces.count(), 4);
  EXPECT_EQ(pieces.read(1).caption, "a street");
  EXPECT_TRUE(at::equal(pieces.read(1).frames, street.read(15, 15).frames));
  EXPECT_TRUE(at::equal(pieces.read(2).frames, yard.read(0, 15).frames));
  options.frames = 40;
  EXPECT_BAD_INPUT(RecordingPieces(folder_, options), HasSubstr("no recording has the 40 frames"));
}

TEST_F(RecordingTest, DepthIsCroppedLikeTheFrames) {
  RecordOptions options;
  options.clip.frames = 9;
  options.clip.width = 64;
  options.clip.height = 32;
  record(folder_, options);
  const std::vector<RecordingFiles> found = find_recordings(folder_);
  ASSERT_EQ(found.size(), 1u);
  const at::Tensor all = io::read_npy(found[0].depth).to(at::kFloat);
  RecordingOptions same;
  same.width = 64;
  same.height = 32;
  const Recording recording(found[0], same);
  EXPECT_TRUE(recording.has_depth());
  EXPECT_TRUE(at::equal(recording.read_depth(4), all.slice(0, 0, {}, 4)));
  EXPECT_TRUE(at::equal(recording.read_depth(3, 5), all.narrow(0, 3, 5)));
  EXPECT_EQ(recording.identity(), Recording(found[0], same).identity());
  // Half the size, cropped to a square: every second one of 32 columns.
  RecordingOptions half;
  half.width = half.height = 16;
  const at::Tensor cut = Recording(found[0], half).read_depth(8);
  EXPECT_TRUE(at::equal(cut, all.slice(0, 0, {}, 8).slice(1, 1, {}, 2).slice(2, 17, 48, 2)));

  RecordingFiles without = found[0];
  without.depth.clear();
  EXPECT_FALSE(Recording(without, same).read_depth(1).defined());
  io::write_npy(folder_ / "short.npy", at::zeros({3, 4, 4}));
  without.depth = folder_ / "short.npy";
  EXPECT_BAD_INPUT(Recording(without, same).read_depth(1), HasSubstr("expected 9 or more entries"));
  io::write_npy(folder_ / "short.npy", at::zeros({9, 4}));
  EXPECT_BAD_INPUT(Recording(without, same).read_depth(1), HasSubstr("expected floats [frames"));
}

TEST_F(RecordingTest, ErrorsNameWhatIsMissing) {
  EXPECT_BAD_INPUT(find_recordings(folder_ / "nowhere"), HasSubstr("not a folder"));
  EXPECT_BAD_INPUT(find_recordings(folder_), HasSubstr("no recordings"));
  write_video("a.mp4", 10, 16);
  EXPECT_BAD_INPUT(find_recordings(folder_), HasSubstr("no camera file"));
  camera::write_trajectory(folder_ / "a.camera.txt", straight(60, 30), camera::kTum);
  const auto found = find_recordings(folder_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_BAD_INPUT(Recording(found[0], {}), HasSubstr("poses for the 10 frames"));
  write_file(folder_ / "a.camera.txt", "nonsense\n");
  EXPECT_BAD_INPUT(Recording(found[0], {}), HasSubstr("a.camera.txt"));
  write_video("a.mp4", 10, 8);
  camera::write_trajectory(folder_ / "a.camera.txt", straight(10, 8), camera::kTum);
  EXPECT_BAD_INPUT(Recording(found[0], {}), HasSubstr("frames per second"));
  fs::create_directories(folder_ / "b" / "frames");
  write_file(folder_ / "b" / "frames" / "00000.png", "no picture");
  EXPECT_BAD_INPUT(find_recordings(folder_), HasSubstr("without a camera file"));
}

}  // namespace
}  // namespace loci::world
