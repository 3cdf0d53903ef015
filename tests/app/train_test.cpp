// SPDX-License-Identifier: Apache-2.0
// The whole pipeline: render scenes, train an autoencoder and a transformer on them, export the
// model and generate a video.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/file.h"
#include "loci/io/media/image.h"

#include "run_command.h"

namespace loci::app {
namespace {

namespace fs = std::filesystem;

// Mean of `key` over the first and over the last quarter of a run's log.
std::pair<double, double> first_and_last(const fs::path& metrics, const std::string& key) {
  std::vector<double> values;
  std::ifstream file(metrics);
  for (std::string line; std::getline(file, line);) {
    const Json entry = Json::parse(line);
    if (entry.contains(key)) values.push_back(entry.at(key).get<double>());
  }
  const size_t quarter = values.size() / 4;
  double first = 0, last = 0;
  for (size_t i = 0; i < quarter; ++i) {
    first += values[i] / static_cast<double>(quarter);
    last += values[values.size() - 1 - i] / static_cast<double>(quarter);
  }
  return {first, last};
}

TEST(TrainCommand, TrainsExportsAndGenerates) {
  const fs::path folder =
      fs::path(::testing::TempDir()) / fmt::format("loci_train_command_{}", ::getpid());
  fs::remove_all(folder);
  fs::create_directories(folder);
  const auto in = [&](const char* name) { return (folder / name).string(); };
  const auto expect_done = [](const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"--threads", "1", "--quiet"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = run_command(all);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  };

  const Json autoencoder = {{"model",
                             {{"base_dim", 8},
                              {"decoder_base_dim", 8},
                              {"z_dim", 8},
                              {"dim_mult", {1, 2, 2}},
                              {"num_res_blocks", 1},
                              {"temperal_downsample", {true, true}},
                              {"patch_size", 4},
                              {"upsample", "shuffle"}}},
                            {"data", {{"width", 96}, {"height", 64}}},
                            {"optimizer", {{"kind", "muon"}, {"learning_rate", 2e-3}, {"warmup_updates", 3}}},
                            {"updates", 100},
                            {"phases",
                             {{{"frames", 1}, {"batch", 8}},
                              {{"from", 60}, {"frames", 9}, {"batch", 2}}}},
                            {"ema", 0.9},
                            {"validation", {{"clips", 2}}}};
  write_file(folder / "vae.json", autoencoder.dump());
  expect_done({"train", "vae", in("vae.json"), "--out", in("vae")});
  const auto [vae_first, vae_last] = first_and_last(folder / "vae/metrics.jsonl", "l1");
  EXPECT_LT(vae_last,
            0.9 * vae_first);  // on clips, which are harder than the single pictures before

  expect_done({"world", "encode", "--vae", in("vae/vae"), "--out", in("latents"), "--count", "12",
               "--frames", "41", "--size", "96x64", "--workers", "1"});

  const Json model = {{"num_attention_heads", 1}, {"num_layers", 2}, {"in_channels", 8},
                      {"ffn_dim", 256},           {"text_dim", 16},  {"text_len", 16},
                      {"freq_dim", 64},           {"chunk_size", 5}, {"hybrid_layers", {1}},
                      {"camera_attn_compress", 1}};
  const Json recipe = {
      {"model", model},
      {"updates", 160},
      {"batch", 4},
      {"ema", 0.9},
      {"noise", {{"kind", "uniform"}}},
      {"past", {{"prefix_share", 0.5}, {"noise_factor", 0.2}}},
      {"optimizer",
       {{"kind", "muon"},
        {"muon_learning_rate", 0.02},
        {"learning_rates", {{"backbone", 2e-3}, {"camera", 2e-3}, {"recurrent", 4e-3}, {"text", 2e-3}}},
        {"clip", 1.0},
        {"warmup_updates", 5},
        {"decay_updates", 160}}},
      {"phases",
       {{{"window", 11},
         {"data", {{{"folder", in("latents")}}}},
         {"history",
          {{"bounded_share", 0.5}, {"bank_frames", {0, 2}}, {"recent_frames", {0, 2}}}}}}}};
  write_file(folder / "model.json", recipe.dump());
  expect_done({"train", in("model.json"), "--out", in("run")});
  const auto [first, last] = first_and_last(folder / "run/metrics.jsonl", "loss");
  EXPECT_LT(last, 0.8 * first);

  expect_done({"train", "export", in("run"), "--vae", in("vae/vae"), "--out", in("model")});
  io::write_png(folder / "start.png", at::full({64, 96, 3}, 120, at::kByte));
  expect_done({"generate", "--model", in("model"), "--image", in("start.png"), "--trajectory",
               "look_around", "--seconds", "2", "--size", "96x64", "--steps", "2", "--out",
               in("video.mp4")});
  EXPECT_GT(fs::file_size(folder / "video.mp4"), 1000u);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace loci::app
