// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"

#include "tests/app/run_command.h"
#include "tests/eval/tiny_recording.h"

namespace loci::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class EvalCommand : public ::testing::Test {
 protected:
  EvalCommand() {
    eval::make_tiny_folder(path("model"), 1);
    eval::make_tiny_recording(path("data/a"), 41, 1);
  }
  ~EvalCommand() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Outcome run(const std::string& suite, std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"--quiet", "eval", suite, "--model", path("model")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments);
  }
  std::string refused(const std::string& suite, const std::vector<std::string>& more) const {
    const Outcome outcome = run(suite, more);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return outcome.err;
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("loci_eval_command_test_" + std::to_string(::getpid()));
};

TEST_F(EvalCommand, WritesReports) {
  const std::vector<std::string> data = {"--data", path("data"), "--context-seconds", "1"};
  std::vector<std::string> memory = data;
  memory.insert(memory.end(), {"--out", path("memory")});
  const Outcome outcome = run("memory", memory);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, path("memory/report.html") + "\n");
  EXPECT_TRUE(fs::exists(path("memory/summary.csv")));
  memory.insert(memory.end(), {"--steps", "1"});
  EXPECT_THAT(refused("memory", memory), HasSubstr("manifest.json"));

  std::vector<std::string> sweep = data;
  sweep.insert(sweep.end(), {"--sweep", "4,0", "--out", path("sweep")});
  EXPECT_EQ(run("arena", sweep).code, 0);
  const Json results = load_json(path("sweep/results.json"));
  ASSERT_EQ(results["variants"].size(), 2u);
  EXPECT_EQ(results["variants"][0]["name"], "model, 0 frames");
}

TEST_F(EvalCommand, VariesTheReadoutAndSharesLatents) {
  const std::vector<std::string> data = {"--data", path("data"), "--cache", path("latents")};
  std::vector<std::string> switched = data;
  switched.insert(switched.end(), {"--context-seconds", "1", "--readouts", "off,random",
                                   "--reset-every", "1,2", "--out", path("switched")});
  EXPECT_EQ(run("memory", switched).code, 0);
  const Json results = load_json(path("switched/results.json"));
  std::vector<std::string> names;
  for (const Json& row : results["variants"]) names.push_back(row["name"]);
  EXPECT_THAT(names, ::testing::ElementsAre("model", "model, readout off", "model, random readout",
                                            "model, states reset every chunk",
                                            "model, states reset every 2 chunks"));
  EXPECT_EQ(results["pairs"].size(), 4u);
  EXPECT_FALSE(fs::exists(path("switched/cache")));
  EXPECT_TRUE(fs::exists(path("latents")));

  std::vector<std::string> attention = data;
  attention.insert(attention.end(), {"--out", path("attention")});
  EXPECT_THAT(refused("attention", attention), HasSubstr("no recording contains a revisit"));
  EXPECT_THAT(refused("attention", {"--data", path("data"), "--readouts", "loud", "--out", "x"}),
              HasSubstr("loud"));
}

// The time base and the seeds are part of the settings; the weight only changes the tables.
TEST_F(EvalCommand, SetsTheTimeBaseSeedsAndWeights) {
  eval::make_tiny_recording(path("data/b"), 81, 2);
  std::vector<std::string> options = {
      "--data",  path("data"), "--context-seconds", "0.5", "--stride", "2",
      "--clock", "recorded",   "--seeds",           "3,4", "--out",    path("times")};
  const Outcome outcome = run("revisit", options);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json manifest = load_json(path("times/manifest.json"));
  EXPECT_EQ(manifest["stride"], 2);
  EXPECT_EQ(manifest["clock"], "recorded");
  EXPECT_EQ(manifest["seed"], "3,4");
  EXPECT_EQ(load_json(path("times/results.json"))["weight"], "clips");
  options.insert(options.end(), {"--weight", "instants"});
  EXPECT_EQ(run("revisit", options).code, 0);
  EXPECT_EQ(load_json(path("times/results.json"))["weight"], "instants");
}

TEST_F(EvalCommand, ExportsInputsOfOtherSystems) {
  const Outcome outcome =
      run_command({"--quiet", "eval", "export", "sana-wm", "--data", path("data"), "--size",
                   "64x32", "--context-seconds", "1", "--out", path("inputs")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* name : {"memory.mp4", "memory-camera.npz", "start.png", "target-camera.npz",
                           "all-camera.npz", "caption.txt", "clip.json"}) {
    EXPECT_TRUE(fs::exists(path("inputs/a/") + name)) << name;
  }
  const Outcome unknown =
      run_command({"--quiet", "eval", "export", "sana", "--data", path("data"), "--out", "x"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("sana-wm"));
}

// Two clips in one process each, with the variables of torchrun and of srun. The last process
// writes the report.
TEST_F(EvalCommand, DistributesClipsOverProcesses) {
  eval::make_tiny_recording(path("data/b"), 41, 2);
  const std::vector<std::string> options = {"--data",        path("data"),        "--out",
                                            path("divided"), "--context-seconds", "1"};
  ::setenv("SLURM_PROCID", "1", 1);
  EXPECT_EQ(
      run("memory", {"--data", path("data"), "--out", path("batch"), "--context-seconds", "1"}).out,
      path("batch/report.html") + "\n")
      << "a batch script is not a job step";
  ::setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  const Outcome first = run("memory", options);
  ::setenv("RANK", "0", 1);
  ::setenv("WORLD_SIZE", "2", 1);
  const Outcome second = run("memory", options);
  for (const char* name : {"RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}) {
    ::unsetenv(name);
  }
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, "");
  EXPECT_EQ(second.out, path("divided/report.html") + "\n") << second.err;
  EXPECT_EQ(load_json(path("divided/results.json"))["variants"],
            load_json(path("batch/results.json"))["variants"]);
}

TEST_F(EvalCommand, MeasuresDrift) {
  const std::vector<std::string> data = {"--data", path("data"), "--context-seconds", "1"};
  std::vector<std::string> drift = data;
  drift.insert(drift.end(),
               {"--window-seconds", "0.5", "--autoencoder", "--videos", "--out", path("drift")});
  const Outcome outcome = run("drift", drift);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, path("drift/report.html") + "\n");
  EXPECT_TRUE(fs::exists(path("drift/sheets/model/a.jpg")));
  EXPECT_TRUE(fs::exists(path("drift/predictions/model/a.mp4")));
  const Json results = load_json(path("drift/results.json"));
  ASSERT_EQ(results["variants"].size(), 2u);
  EXPECT_TRUE(results["variants"][0]["metrics"].contains("sharpness_0_0.5"));

  std::vector<std::string> wide = data;
  wide.insert(wide.end(), {"--out", path("wide")});
  EXPECT_THAT(refused("drift", wide), HasSubstr("no recording has 5 s after the context"));
  std::vector<std::string> absent = data;
  absent.insert(absent.end(), {"--predictions", path("data"), "--out", path("absent")});
  EXPECT_THAT(refused("drift", absent), HasSubstr("has no video of any clip"));
  const Outcome none =
      run_command({"--quiet", "eval", "drift", "--data", path("data"), "--out", path("x")});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--model is missing"));
}

TEST_F(EvalCommand, RejectsInvalidOptions) {
  EXPECT_THAT(refused("memory", {"--data", path("nowhere"), "--out", path("x")}),
              HasSubstr("not a folder"));
  EXPECT_THAT(refused("memory", {"--data", path("data"), "--context-seconds", "1", "--predictions",
                                 path("p"), "--out", path("x")}),
              HasSubstr("has no video of any clip"));
  EXPECT_THAT(refused("memory", {"--data", path("data"), "--clock", "mine", "--out", path("x")}),
              HasSubstr("generated, recorded"));
  EXPECT_THAT(refused("memory", {"--data", path("data"), "--seeds", "1,2", "--seed", "1", "--out",
                                 path("x")}),
              HasSubstr("--seed"));
  EXPECT_THAT(refused("revisit", {"--data", path("data"), "--size", "48", "--out", path("x")}),
              HasSubstr("768x512"));
  EXPECT_THAT(
      refused("revisit", {"--data", path("data"), "--weights", path("data"), "--out", path("x")}),
      HasSubstr("lpips_alex.safetensors"));
  EXPECT_THAT(refused("return", {"--data", path("data"), "--out", path("x")}),
              HasSubstr("--distance pixels needs none"));
  EXPECT_THAT(refused("probe", {"--data", path("data"), "--out", path("x")}),
              HasSubstr("shorter than 9 chunks"));
}

}  // namespace
}  // namespace loci::app
