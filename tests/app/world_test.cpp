// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <map>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/file.h"
#include "loci/io/media/image.h"
#include "loci/model/autoencoder/vae.h"
#include "loci/train/data/encode_clip.h"
#include "loci/world/clip/clip_maker.h"

#include "run_command.h"

namespace loci::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A small autoencoder with random weights, and folders to encode into.
class WorldEncodeTest : public ::testing::Test {
 protected:
  WorldEncodeTest()
      : folder_(fs::path(::testing::TempDir()) / fmt::format("loci_encode_{}", ::getpid())) {
    fs::remove_all(folder_);
    save_vae("vae", 1);
  }
  ~WorldEncodeTest() override { fs::remove_all(folder_); }

  void save_vae(const std::string& name, uint64_t seed) const {
    model::VaeConfig config = model::VaeConfig::wan22();
    config.base_dim = config.decoder_base_dim = 4;
    config.num_res_blocks = 1;
    fs::create_directories(folder_ / name);
    model::Vae(config, {.seed = seed}).save(folder_ / name);
  }

  Outcome encode(const std::string& out, std::vector<std::string> more,
                 const std::string& vae = "vae") const {
    std::vector<std::string> arguments = {"-q",
                                          "world",
                                          "encode",
                                          "--vae",
                                          (folder_ / vae).string(),
                                          "--out",
                                          (folder_ / out).string(),
                                          "--size",
                                          "32x32"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(std::move(arguments));
  }

  std::map<std::string, std::string> files(const std::string& name) const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_ / name))
      found[entry.path().filename().string()] = read_file(entry.path());
    return found;
  }

  fs::path folder_;
};

TEST_F(WorldEncodeTest, BytesDoNotDependOnShardsOrWorkers) {
  const std::vector<std::string> dataset = {"--count",           "5", "--frames", "9",
                                            "--clips-per-scene", "2", "--seed",   "3"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), dataset.begin(), dataset.end());
    return more;
  };
  Outcome outcome = encode("whole", with({"--workers", "2"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  ASSERT_EQ(encode("parts", with({"--shard", "1/2", "--workers", "1"})).code, 0);
  EXPECT_EQ(files("parts").size(), 3u);  // clips 2 and 3 of the second scene, and the manifest
  ::setenv("RANK", "0", 1);
  ::setenv("WORLD_SIZE", "2", 1);
  outcome = encode("parts", with({}));
  ::unsetenv("RANK");
  ::unsetenv("WORLD_SIZE");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto whole = files("whole");
  EXPECT_EQ(whole.size(), 6u);
  EXPECT_EQ(whole, files("parts"));

  // A clip contains the encoder's latents of the rendered frames.
  world::ClipOptions options;
  options.width = options.height = 32;
  options.frames = 9;
  options.clips_per_scene = 2;
  const world::Clip clip = world::make_clip(3, 4, options);
  const train::LatentClip stored =
      train::read_latent_clip(folder_ / "whole" / "000004.safetensors");
  const train::LatentClip made = train::encode_clip(model::Vae::load(folder_ / "vae"), clip);
  EXPECT_TRUE(at::allclose(stored.latents.to(at::kFloat), made.latents.to(at::kFloat), 0.02, 0.02));
  EXPECT_EQ(stored.latents.sizes(), (at::IntArrayRef{48, 3, 2, 2}));
  EXPECT_EQ(stored.caption, clip.caption);
  EXPECT_EQ(stored.cameras[2].pose, clip.trajectory.cameras[8].pose);
  EXPECT_EQ(train::LatentFolder(folder_ / "whole", 0).clips(), 5u);
}

TEST_F(WorldEncodeTest, ContinuesADatasetAndRejectsAnotherOne) {
  const std::vector<std::string> two = {"--count", "2", "--frames", "5"};
  ASSERT_EQ(encode("out", two).code, 0);
  const auto before = files("out");
  const auto touched = fs::last_write_time(folder_ / "out" / "000000.safetensors");
  fs::remove(folder_ / "out" / "000001.safetensors");
  // More clips may be added to the same dataset.
  ASSERT_EQ(encode("out", {"--count", "3", "--frames", "5"}).code, 0);
  EXPECT_EQ(fs::last_write_time(folder_ / "out" / "000000.safetensors"), touched);
  auto after = files("out");
  EXPECT_EQ(after.erase("000002.safetensors"), 1u);
  EXPECT_EQ(after, before);

  Outcome outcome = encode("out", {"--count", "2", "--frames", "5", "--seed", "1"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("seed is 0 there and 1 here"));
  save_vae("other", 2);
  outcome = encode("out", two, "other");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("manifest.json: vae is"));
}

TEST_F(WorldEncodeTest, EncodesRecordings) {
  ASSERT_EQ(
      run_command({"-q", "world", "record", (folder_ / "rec").string(), "--count", "2", "--frames",
                   "11", "--size", "32x32", "--video", "lossless", "--depth", "none"})
          .code,
      0);
  const std::string from = (folder_ / "rec").string();
  const Outcome outcome = encode("out", {"--from", from, "--frames", "5"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(files("out").size(), 5u);  // two clips of each recording, and the manifest
  world::ClipOptions options;
  options.width = options.height = 32;
  options.frames = 11;
  const world::Clip clip = world::make_clip(0, 1, options);
  const train::LatentClip stored = train::read_latent_clip(folder_ / "out" / "000003.safetensors");
  EXPECT_EQ(stored.caption, clip.caption);
  EXPECT_LT(
      camera::norm(stored.cameras[1].pose.position - clip.trajectory.cameras[9].pose.position),
      1e-9);
}

TEST_F(WorldEncodeTest, ImpossibleOptionsAreBadInput) {
  Outcome outcome = encode("out", {"--frames", "10"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("use 9 or 13"));
  outcome = encode("out", {"--size", "40x32"});
  EXPECT_EQ(outcome.code, 2);
  outcome = encode("out", {"--shard", "2/2"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("shard 2/2"));
  outcome = encode("out", {"--shard", "half"});
  EXPECT_EQ(outcome.code, 2);
  outcome = encode("out", {"--style", "ruins"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("held out from training"));
  outcome = encode("out", {}, "nowhere");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_FALSE(fs::exists(folder_ / "out" / "000000.safetensors"));
}

// `--for` takes only generation.json from a model folder.
class WorldForModel : public ::testing::Test {
 protected:
  WorldForModel() {
    fs::create_directories(folder_ / "model");
    write_defaults(R"({"width": 64, "height": 32, "fps": 8, "fov": 60, "family": "plaza"})");
  }
  ~WorldForModel() override { fs::remove_all(folder_); }

  void write_defaults(const std::string& json) const {
    write_file(folder_ / "model" / "generation.json", json);
  }
  Outcome record(const std::string& out, std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"-q",      "world",   "record", (folder_ / out).string(),
                                          "--count", "1",       "--seconds", "1",
                                          "--video", "png",     "--depth", "none",
                                          "--for",   (folder_ / "model").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(std::move(arguments));
  }
  Json clip(const std::string& out) const {
    return load_json(folder_ / out / "clips" / "000000" / "clip.json");
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / fmt::format("loci_world_for_{}", ::getpid());
};

TEST_F(WorldForModel, RecordsItsFamilyWithItsFormat) {
  ASSERT_EQ(record("a", {}).code, 0);
  const Json a = clip("a");
  EXPECT_EQ(a["style"], "plaza");
  EXPECT_EQ(a["width"], 64);
  EXPECT_EQ(a["height"], 32);
  EXPECT_EQ(a["fps"], 8);
  EXPECT_EQ(a["x_fov_deg"], 60);
  EXPECT_EQ(a["frames"], 9);
  EXPECT_EQ(a["path"], "walk");
  // Other options override it.
  ASSERT_EQ(record("b", {"--size", "32x16", "--fps", "16", "--fov", "75", "--style", "town"}).code,
            0);
  const Json b = clip("b");
  EXPECT_EQ(b["style"], "town");
  EXPECT_EQ(b["width"], 32);
  EXPECT_EQ(b["fps"], 16);
  EXPECT_EQ(b["x_fov_deg"], 75);
  ASSERT_EQ(record("c", {"--path", "tour"}).code, 0);
  EXPECT_EQ(clip("c")["path"], "tour");
}

TEST_F(WorldForModel, ModelsWithoutAFamilyHaveAllStyles) {
  write_defaults(R"({"width": 32, "height": 32})");
  ASSERT_EQ(record("a", {}).code, 0);
  const Json manifest = load_json(folder_ / "a" / "manifest.json");
  EXPECT_EQ(manifest["width"], 32);
  EXPECT_TRUE(manifest["style"].is_null());
}

TEST_F(WorldForModel, RejectsUnknownFamiliesAndFolders) {
  write_defaults(R"({"family": "piazza"})");
  Outcome outcome = record("a", {});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("generation.json"));
  EXPECT_THAT(outcome.err, HasSubstr("'piazza'"));
  write_defaults(R"({"family": 3})");
  EXPECT_EQ(record("a", {}).code, 2);
  outcome = record("a", {"--for", (folder_ / "absent").string()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--for"));
  EXPECT_FALSE(fs::exists(folder_ / "a"));
}

TEST_F(WorldForModel, SheetsAreAlsoCalledPreviews) {
  for (const std::string name : {"sheet", "preview"}) {
    const fs::path picture = folder_ / (name + ".png");
    const Outcome outcome =
        run_command({"-q", "world", name, "--count", "3", "--columns", "3", "--out",
                     picture.string(), "--for", (folder_ / "model").string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(io::read_image(picture).sizes(), (at::IntArrayRef{32, 3 * 64, 3}));
  }
  EXPECT_EQ(read_file(folder_ / "sheet.png"), read_file(folder_ / "preview.png"));
}

TEST(WorldStats, MeasuresTours) {
  const Outcome outcome = run_command({"-q", "world", "stats", "--paths", "1", "--seconds", "30",
                                       "--workers", "1", "--style", "plaza", "--path", "tour",
                                       "--pictures", "--size", "48x32"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("pixels per latent"));
  EXPECT_THAT(outcome.out, HasSubstr("% of the later pixels"));
}

TEST(WorldStats, PrintsATableOrJson) {
  const std::vector<std::string> arguments = {"-q",        "world", "stats",     "--paths", "2",
                                              "--seconds", "12",    "--workers", "1"};
  const Outcome table = run_command(arguments);
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("2 of 12.0 s"));
  EXPECT_THAT(table.out, HasSubstr("collisions (nearer than 0.5 m)"));
  std::vector<std::string> json = arguments;
  json.emplace_back("--json");
  EXPECT_EQ(parse_json(run_command(json).out, "stats")["collisions"], 0);
}

}  // namespace
}  // namespace loci::app
