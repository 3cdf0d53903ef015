// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/file.h"
#include "loci/camera/path/presets.h"
#include "loci/camera/path/trajectory_io.h"

#include "tests/app/run_command.h"

namespace loci::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TrajectoryCommand : public ::testing::Test {
 protected:
  TrajectoryCommand() { fs::create_directories(folder_); }
  ~TrajectoryCommand() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string data(const std::string& name) {
    return (fs::path(LOCI_TEST_DATA) / "camera" / name).string();
  }
  // Runs `loci trajectory …`, which must succeed.
  static Outcome must(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "trajectory");
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  }
  // The error message of a command that must fail.
  static std::string refused(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "trajectory");
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return outcome.err;
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("loci_trajectory_test_" + std::to_string(::getpid()));
};

TEST_F(TrajectoryCommand, ShowsLengthSpeedsAndRevisits) {
  Outcome shown = must({"show", "w-16,right-192"});
  EXPECT_EQ(shown.err, "");
  EXPECT_THAT(shown.out, StartsWith("w-16,right-192: key string\n"));
  for (const char* text :
       {"209 poses, 209 video frames, 13.00 s at 16 frames per second",
        "53; generation repeats the last camera up to 56 = 1 + 5 x 11 chunks",
        "1.00 m; end is 1.00 m from the start", "360 degrees", "1.00 m/s, 30.0 degrees/s",
        "90.00 degrees", "the first at 11.94 s returns to 0.88 s"}) {
    EXPECT_THAT(shown.out, HasSubstr(text));
  }
  shown = must({"show", data("transforms.json"), "--json"});
  EXPECT_THAT(shown.err, HasSubstr("warning: the fastest step is 1.00 m and 90.0 degrees"));
  const Json json = parse_json(shown.out, "show");
  EXPECT_EQ(json["format"], "nerfstudio");
  EXPECT_EQ(json["poses"], 13);
  EXPECT_EQ(json["within_trained_motion"], false);
  EXPECT_EQ(json["image_size"], (Json{640, 360}));
  EXPECT_NEAR(json["distance_m"].get<double>(), 1.8, 1e-6);
  EXPECT_EQ(run_command({"trajectory", "show", data("kitti.txt"), "--quiet"}).err, "");
}

TEST_F(TrajectoryCommand, OptionsReplaceMissingValuesOfAFile) {
  Json json = parse_json(must({"show", data("kitti.txt"), "--json", "--fov", "60", "--input-fps",
                               "24", "--scale", "0.1", "--size", "320x200"})
                             .out,
                         "show");
  EXPECT_EQ(json["video_fps"], 24.0);
  EXPECT_NEAR(json["x_fov_deg"][0].get<double>(), 60, 1e-9);
  EXPECT_NEAR(json["distance_m"].get<double>(), 0.18, 1e-9);
  EXPECT_EQ(json["image_size"], (Json{320, 200}));
  json = parse_json(must({"show", "w-10", "--json", "--move-speed", "3.2"}).out, "show");
  EXPECT_NEAR(json["distance_m"].get<double>(), 2, 1e-9);
  json = parse_json(must({"show", data("mind_third"), "--json", "--actor"}).out, "show");
  EXPECT_NEAR(json["turn_deg"].get<double>(), 90, 1e-6) << "the character does not look up";
}

TEST_F(TrajectoryCommand, DrawsATopView) {
  must({"show", "w-32,right-48,w-16", "--plot", path("top.svg")});
  EXPECT_THAT(read_file(path("top.svg")), HasSubstr(">w-32,right-48,w-16</text>"));
  must({"show", data("colmap"), "--plot", path("top.png")});
  EXPECT_THAT(read_file(path("top.png")), StartsWith("\x89PNG"));
  EXPECT_THAT(refused({"show", "w-3", "--plot", path("top.gif")}), HasSubstr(".svg or .png"));
}

TEST_F(TrajectoryCommand, ConvertsEveryFormatToEveryOther) {
  const std::vector<std::string> inputs = {
      "loci.json", "re10k.txt", "colmap",          "tum.txt",        "kitti.txt", "transforms.json",
      "lingbot",   "sana.npz",  "matrix_game.npz", "worldplay.json", "mind_first"};
  for (const std::string& input : inputs) {
    for (const std::string& format : camera::format_names()) {
      if (format == "keys") continue;  // can only represent motions of keys
      SCOPED_TRACE(input + " to " + format);
      const std::string out = path(input + "." + format);
      const Outcome outcome =
          must({"convert", data(input), out, "--to", format, "--quiet", "--input-fps", "16"});
      EXPECT_THAT(outcome.out, StartsWith(out + ": "));
      const camera::LoadedTrajectory loaded = camera::load_trajectory(out);
      EXPECT_EQ(loaded.format->name, format);
      const camera::Trajectory& result = loaded.trajectory;
      EXPECT_EQ(result.cameras.size(), format == "loci" ? 6u : format == "worldplay" ? 4u : 13u);
      // All formats give one metre forward and a quarter turn to the right.
      const camera::Pose& start = result.cameras[0].pose;
      const camera::Pose& turned = result.cameras[8 / result.frames_per_pose].pose;
      EXPECT_NEAR(dot(turned.position - start.position, start.forward()), 1, 1e-4);
      EXPECT_NEAR(dot(turned.forward(), start.right()), 1, 1e-4);
    }
  }
}

TEST_F(TrajectoryCommand, ConvertsRatesLatentsAndOrigin) {
  must({"convert", "w-24,right-24", path("a.txt"), "--to", "tum", "--input-fps", "24", "--fps",
        "16"});
  camera::Trajectory result = camera::read_trajectory(path("a.txt"));
  EXPECT_EQ(result.fps, 16);
  EXPECT_EQ(result.cameras.size(), 33u);
  EXPECT_NEAR(result.cameras[8].pose.position.z, 0.5, 1e-9);

  must({"convert", "w-40", path("b.txt"), "--to", "tum", "--latents", "--pad"});
  result = camera::read_trajectory(path("b.txt"));
  EXPECT_EQ(result.fps, 4);
  EXPECT_EQ(result.cameras.size(), 11u);

  must({"convert", "w-41", path("c.txt"), "--to", "kitti", "--latents", "--pad"});
  result = camera::read_trajectory(path("c.txt"));
  EXPECT_EQ(result.cameras.size(), 11u) << "frame 41 fills no latent";
  EXPECT_NEAR(result.cameras[10].pose.position.z, 2.5, 1e-9);

  // LOCI files always begin at the identity and fill whole chunks.
  const Outcome converted =
      must({"convert", data("mind_third"), path("d.json"), "--to", "loci", "--actor"});
  EXPECT_THAT(converted.err, HasSubstr("relative to the first"));
  EXPECT_THAT(converted.err, HasSubstr("repeated the last camera for 2 more latents"));
  EXPECT_THAT(converted.out, HasSubstr("LOCI trajectory JSON, 6 latents"));
  result = camera::read_trajectory(path("d.json"));
  EXPECT_EQ(result.cameras[0].pose, camera::Pose{});
  EXPECT_EQ(result.video_fps(), 24);

  // From latents back to frames, and to a key string.
  must({"convert", path("d.json"), path("e.txt"), "--to", "kitti"});
  EXPECT_EQ(camera::read_trajectory(path("e.txt")).cameras.size(), 21u);
  must({"convert", "w-12,left-8,wd-5", path("f.txt"), "--to", "keys"});
  EXPECT_EQ(read_file(path("f.txt")), "w-12,left-8,wd-5\n");
  EXPECT_THAT(must({"convert", "w-12", path("g.json"), "--to", "mind"}).err, HasSubstr("--fps 24"));
}

TEST_F(TrajectoryCommand, CreatesPresets) {
  const std::string help = must({"make", "--help"}).out;
  for (const camera::Preset& preset : camera::presets()) {
    EXPECT_THAT(help, HasSubstr(preset.name));
    EXPECT_THAT(help, HasSubstr(preset.summary));
    const std::string out = path(std::string(preset.name));
    const Outcome made = must({"make", std::string(preset.name), "--out", out});
    EXPECT_EQ(made.err, "");
    const camera::Trajectory result = camera::read_trajectory(out);
    EXPECT_EQ(result.cameras.size() % 5, 1u);
    EXPECT_EQ(result.cameras[0].pose, camera::Pose{});
  }
  must({"make", "square", "--out", path("sq"), "--to", "colmap", "--distance", "1", "--fps", "24",
        "--seconds", "30", "--fov", "70"});
  const camera::Trajectory square = camera::read_trajectory(path("sq"));
  EXPECT_EQ(square.cameras.size(), 721u);
  EXPECT_NEAR(camera::degrees(square.cameras[0].lens.fov_x), 70, 1e-9);
  EXPECT_THAT(must({"make", "spin", "--out", path("s"), "--seconds", "5"}).err,
              HasSubstr("use a slower trajectory"));
  EXPECT_EQ(camera::read_trajectory(path("s")).cameras.size(), 21u);
}

TEST_F(TrajectoryCommand, RejectsBadInputWithOneLine) {
  EXPECT_THAT(refused({"show", path("missing.json")}), HasSubstr("no such file"));
  EXPECT_THAT(refused({"show", "w-12,q-3"}), HasSubstr("unknown key in 'q'"));
  write_file(path("bad.txt"), "0 0 0 0 0 0 0 1\n1 nan 0 0 0 0 0 1\n");
  EXPECT_THAT(refused({"show", path("bad.txt")}), HasSubstr("bad.txt: line 2: the position"));
  EXPECT_THAT(refused({"convert", path("bad.txt"), path("o"), "--to", "loci"}),
              HasSubstr("line 2"));
  EXPECT_FALSE(fs::exists(path("o")));
  EXPECT_THAT(refused({"show", data("tum.txt"), "--from", "kitti"}),
              HasSubstr("line 2: 8 columns"));
  EXPECT_THAT(refused({"show", data("tum.txt"), "--from", "kitty"}), HasSubstr("kitty"));
  EXPECT_THAT(refused({"show", "w-3", "--size", "640"}), HasSubstr("768x512"));
  EXPECT_THAT(refused({"show", "w-3", "--fov", "0"}), HasSubstr("--fov"));
  EXPECT_THAT(refused({"convert", "w-3", path("o"), "--to", "tum", "--pad"}),
              HasSubstr("--latents"));
  EXPECT_THAT(refused({"convert", "w-3", path("o")}), HasSubstr("--to"));
  EXPECT_THAT(refused({"convert", data("tum.txt"), path("o"), "--to", "keys"}),
              HasSubstr("frame 1: no keys cause this motion"));
  EXPECT_THAT(refused({"convert", "w-3", path("no/such/o"), "--to", "tum"}),
              HasSubstr("does not exist"));
  write_file(path("file"), "x");
  EXPECT_THAT(refused({"convert", "w-3", path("file"), "--to", "colmap"}), HasSubstr("folder"));
  EXPECT_THAT(refused({"make", "spin", "--out", path("o"), "--distance", "3"}),
              HasSubstr("no distance"));
  EXPECT_THAT(refused({"make", "pirouette", "--out", path("o")}), HasSubstr("pirouette"));
}

}  // namespace
}  // namespace loci::app
