// SPDX-License-Identifier: Apache-2.0
// Commands on the published folder of another system (SolarWM).
#include <unistd.h>

#include <filesystem>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/file.h"
#include "loci/io/media/image.h"
#include "loci/model/autoencoder/vae.h"

#include "tests/app/run_command.h"
#include "tests/io/read_frames.h"
#include "tests/sample/tiny_folder.h"

namespace loci::app {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SystemCommands : public ::testing::Test {
 protected:
  SystemCommands() {
    fs::create_directories(folder_ / "published/vae");
    fs::copy(fs::path(LOCI_TEST_DATA) / "model/solarwm/model.pt", folder_ / "published/model.pt");
    model::Vae(testing::tiny_vae_config()).save(folder_ / "published/vae");
    at::manual_seed(5);
    io::write_png(path("first.png"), at::randint(0, 256, {32, 48, 3}, at::kByte));
  }
  ~SystemCommands() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Outcome must(const std::vector<std::string>& arguments) const {
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  }
  std::vector<std::string> walk(const std::string& model, const std::string& out) const {
    return {"generate", "--model",      path(model),    "--image", path("first.png"), "--size",
            "48x32",    "--trajectory", "w-16,left-16", "--out",   path(out)};
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("loci_systems_test_" + std::to_string(::getpid()));
};

TEST_F(SystemCommands, InspectNamesTheSystemAndMissingParts) {
  EXPECT_THAT(must({"inspect", path("published")}).out,
              AllOf(HasSubstr("SolarWM-5B stage 2"), HasSubstr("missing: text encoder")));
  const Json report = parse_json(must({"inspect", path("published"), "--json"}).out, "report");
  EXPECT_EQ(report.at("system"), "solarwm");
  EXPECT_EQ(report.at("weights").at("missing"), Json::array());
  EXPECT_EQ(report.at("weights").at("unexpected"), Json::array());
  EXPECT_EQ(report.at("parameters").at("camera"), 0);
  // The file alone.
  EXPECT_THAT(must({"inspect", path("published/model.pt")}).out, HasSubstr("SolarWM-5B stage 2"));
}

// Nine frames with the given one, then chunks of twelve; resumed and converted runs are identical.
TEST_F(SystemCommands, GenerateFromPublishedAndConvertedFolders) {
  const Outcome outcome = must(walk("published", "a.mp4"));
  EXPECT_THAT(outcome.out, HasSubstr("33 frames"));
  const Json record = load_json(path("a.json"));
  ASSERT_EQ(record.at("chunks").size(), 3u);
  EXPECT_EQ(record.at("chunks").at(0).at("first"), 1);
  EXPECT_EQ(record.at("chunks").at(1).at("first"), 3);
  EXPECT_EQ(record.at("chunks").at(1).at("visible"), Json({0, 1, 2}));
  EXPECT_EQ(record.at("options").at("solver").at("kind"), "renoise-bf16");
  EXPECT_EQ(record.at("options").at("history").at("sink"), 0);
  const std::string video = read_file(path("a.mp4"));

  must(walk("published", "b.mp4"));
  for (const char* name :
       {"b.mp4", "b.json", "b.latents/00002.safetensors", "b.latents/00003.safetensors"}) {
    ASSERT_TRUE(fs::remove(path(name)));
  }
  Json run = load_json(path("b.latents/run.json"));
  run["finished"] = false;
  write_file(path("b.latents/run.json"), run.dump());
  std::vector<std::string> resumed = walk("published", "b.mp4");
  resumed.emplace_back("--resume");
  must(resumed);
  EXPECT_EQ(read_file(path("b.mp4")), video);

  must({"convert", path("published"), "--dtype", "fp32", "--out", path("converted")});
  EXPECT_EQ(load_json(path("converted/config.json")).at("system"), "solarwm");
  EXPECT_EQ(load_json(path("converted/generation.json")).at("width"), 864);
  EXPECT_FALSE(fs::exists(path("converted/model.pt")));
  must(walk("converted", "c.mp4"));
  EXPECT_EQ(read_file(path("c.mp4")), video);
}

TEST_F(SystemCommands, QuantizationIsMeasured) {
  write_file(path("published/generation.json"), R"({"width": 48, "height": 32, "steps": 2})");
  must({"convert", path("published"), "--quantize", "int8", "--out", path("int8")});
  const Json report = load_json(path("int8/quantization.json"));
  EXPECT_EQ(report.at("error").at("velocity_by_chunk").size(), 2u);
  EXPECT_EQ(load_json(path("int8/generation.json")).at("width"), 48);
}

TEST_F(SystemCommands, ASavedWorldContinues) {
  std::vector<std::string> first = walk("published", "a.mp4");
  first.insert(first.end(), {"--save-world", path("a.world")});
  must(first);
  must({"generate", "--model", path("published"), "--load-world", path("a.world"), "--trajectory",
        "w-12", "--out", path("b.mp4")});
  EXPECT_EQ(io::read_frames(path("b.mp4")).size(0), 12);
  const Json record = load_json(path("b.json"));
  EXPECT_EQ(record.at("chunks").at(0).at("first"), 9);
}

}  // namespace
}  // namespace loci::app
