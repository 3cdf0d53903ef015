// SPDX-License-Identifier: Apache-2.0
#include "loci/world/clip/record.h"

#include <unistd.h>

#include <map>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/io/media/frames.h"
#include "loci/io/tensors/npy.h"
#include "loci/world/clip/tar.h"

#include "tests/base/expect_error.h"
#include "tests/io/read_frames.h"

namespace loci::world {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RecordTest : public ::testing::Test {
 protected:
  RecordTest()
      : folder_(fs::path(::testing::TempDir()) / fmt::format("loci_record_{}", ::getpid())) {
    fs::remove_all(folder_);
  }
  ~RecordTest() override { fs::remove_all(folder_); }

  static RecordOptions small() {
    RecordOptions options;
    options.seed = 4;
    options.count = 4;
    options.clip.frames = 5;
    options.clip.width = 32;
    options.clip.height = 24;
    return options;
  }

  // All files under `name` with their bytes.
  std::map<std::string, std::string> files(const std::string& name) const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / name)) {
      if (entry.is_regular_file())
        found[entry.path().lexically_relative(folder_ / name).string()] = read_file(entry.path());
    }
    return found;
  }

  fs::path folder_;
};

TEST_F(RecordTest, BytesDoNotDependOnTheDivision) {
  RecordOptions options = small();
  options.workers = 2;
  record(folder_ / "whole", options);
  options.workers = 1;
  options.shards = 3;
  for (const int64_t shard : {2, 0, 1}) {
    options.shard = shard;
    record(folder_ / "parts", options);
  }
  const auto whole = files("whole"), parts = files("parts");
  EXPECT_EQ(whole.size(), 1 + 4 * 7u);
  EXPECT_EQ(whole, parts);

  options = small();
  options.tar = true;
  options.clips_per_tar = 3;
  record(folder_ / "tars", options);
  options.shards = 2;
  for (const int64_t shard : {1, 0}) {
    options.shard = shard;
    record(folder_ / "tar_parts", options);
  }
  const auto tars = files("tars");
  EXPECT_EQ(tars.size(), 3u);  // two tar files and the manifest
  EXPECT_EQ(tars, files("tar_parts"));
  // The members equal the files of the folders, with WebDataset names.
  const std::string& tar = tars.at("clips-000001.tar");
  EXPECT_EQ(tar.substr(0, tar.find('\0')), "000003.mp4");
  EXPECT_THAT(tar, HasSubstr("000003.poses.npy"));
  EXPECT_THAT(tar, HasSubstr(whole.at("clips/000003/clip.json")));
  EXPECT_EQ(tar.size() % 512, 0u);
}

TEST_F(RecordTest, WritesAllFilesOfAClip) {
  RecordOptions options = small();
  options.count = 1;
  options.video = RecordOptions::Video::kPng;
  options.depth = RecordOptions::Depth::kFloat;
  record(folder_, options);
  const fs::path clip = folder_ / "clips" / "000000";
  ClipOptions clip_options = options.clip;
  clip_options.depth = true;
  const Clip made = make_clip(options.seed, 0, clip_options);
  EXPECT_TRUE(at::equal(io::read_frames(clip / "frames"), made.frames));
  EXPECT_TRUE(at::equal(io::read_npy(clip / "depth.npy"), made.depth));
  const camera::Trajectory path = camera::read_trajectory(clip / "poses.npy");
  ASSERT_EQ(path.cameras.size(), 5u);
  EXPECT_LT(camera::norm(path.cameras[4].pose.position - made.trajectory.cameras[4].pose.position),
            1e-12);
  EXPECT_NEAR(path.cameras[0].lens.fov_x, made.trajectory.cameras[0].lens.fov_x, 1e-9);
  EXPECT_EQ(camera::read_trajectory(clip / "path.json").cameras.size(), 2u);
  EXPECT_EQ(read_file(clip / "caption.txt"), made.caption + "\n");
  const Json json = load_json(clip / "clip.json");
  EXPECT_EQ(json["world"], made.origin->scene_seed);
  EXPECT_EQ(json["captions"].size(), made.captions.size());
  EXPECT_EQ(json["style"], made.origin->style);
}

TEST_F(RecordTest, ContinuesAndRejectsAnotherDataset) {
  RecordOptions options = small();
  options.count = 2;
  options.depth = RecordOptions::Depth::kNone;
  record(folder_, options);
  EXPECT_FALSE(fs::exists(folder_ / "clips/000000/depth.npy"));
  const std::string before = read_file(folder_ / "clips/000001/clip.json");
  fs::remove_all(folder_ / "clips/000001");
  write_file(folder_ / "clips/000000/caption.txt", "mine");
  record(folder_, options);
  EXPECT_EQ(read_file(folder_ / "clips/000001/clip.json"), before);
  EXPECT_EQ(read_file(folder_ / "clips/000000/caption.txt"), "mine");
  options.seed = 5;
  EXPECT_BAD_INPUT(record(folder_, options), HasSubstr("seed is 4 there and 5 here"));
}

TEST_F(RecordTest, RejectsInvalidOptions) {
  RecordOptions options = small();
  options.shard = 4;
  options.shards = 4;
  EXPECT_BAD_INPUT(record(folder_, options), HasSubstr("shard 4/4"));
  options = small();
  options.clip.width = 33;
  EXPECT_BAD_INPUT(record(folder_, options), HasSubstr("even width and height"));
  options = small();
  options.count = 0;
  EXPECT_BAD_INPUT(record(folder_, options), HasSubstr("at least one"));
  EXPECT_BAD_INPUT(parse_video("gif"), HasSubstr("mp4, lossless, png"));
  EXPECT_BAD_INPUT(parse_depth("double"), HasSubstr("none, half, float"));
  EXPECT_FALSE(fs::exists(folder_ / "manifest.json"));
}

}  // namespace
}  // namespace loci::world
