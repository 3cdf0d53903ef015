// SPDX-License-Identifier: Apache-2.0
// A fixture that trains a tiny autoencoder on small videos.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/io/media/frames.h"

#include "toy_clips.h"
#include "training_runs.h"

namespace loci::train {

// A moving colour gradient, [frames, height, width, 3].
inline at::Tensor moving_gradient(int64_t frames, int64_t height, int64_t width, double colour) {
  const at::Tensor t = at::arange(frames).view({-1, 1, 1, 1}) / 6.0;
  const at::Tensor y = at::arange(height).view({1, -1, 1, 1}) / 14.0;
  const at::Tensor x = at::arange(width).view({1, 1, -1, 1}) / 11.0;
  const at::Tensor c = at::arange(3) * colour;
  return (127.5 + 110 * at::sin(x + t + c) * at::cos(y + c)).round().to(at::kByte);
}

class VaeTraining : public ::testing::Test {
 protected:
  // 8x8 pixels and 2 frames per latent. The videos are resized for training.
  VaeTraining() : folder_(fresh_folder("vae")) {
    std::filesystem::create_directories(folder_ / "videos/more");
    for (int i = 0; i < 3; ++i) {
      io::write_video(folder_ / fmt::format("videos/{}.mp4", i),
                      moving_gradient(6, 40, 52, 0.4 + 0.5 * i));
    }
    io::write_frame_sequence(folder_ / "videos/more/pictures", moving_gradient(5, 40, 52, 2.1));
    recipe_ = {{"model",
                {{"base_dim", 6},
                 {"decoder_base_dim", 8},
                 {"z_dim", 4},
                 {"dim_mult", {1, 2, 2}},
                 {"num_res_blocks", 1},
                 {"temperal_downsample", {true, false}},
                 {"patch_size", 2}}},
               {"data", {{"folder", (folder_ / "videos").string()}, {"width", 32}, {"height", 32}}},
               {"optimizer",
                {{"learning_rate", 3e-3}, {"muon_learning_rate", 0.02}, {"warmup_updates", 2}}},
               {"updates", 6},
               {"batch", 1},
               {"phases",
                {{{"frames", 1}, {"batch", 2}, {"width", 16}, {"height", 16}},
                 {{"from", 3}, {"frames", 3}}}},
               {"checkpoint_updates", 3},
               {"validation", {{"clips", 1}, {"frames", 5}}},
               {"seed", 4}};
  }
  ~VaeTraining() override { std::filesystem::remove_all(folder_); }

  VaeRecipe config() const { return VaeRecipe::from_json(recipe_, "toy"); }

  // The values of a key in the metrics of a run.
  std::vector<double> values(const std::string& run, const std::string& key) const {
    std::vector<double> values;
    std::ifstream file(folder_ / run / "metrics.jsonl");
    for (std::string line; std::getline(file, line);) {
      const Json json = Json::parse(line);
      if (json.contains(key)) values.push_back(json.at(key).get<double>());
    }
    return values;
  }
  std::vector<double> losses(const std::string& run) const { return values(run, "loss"); }

  std::filesystem::path folder_;
  Json recipe_;
  std::unique_ptr<Communicator> alone_ = make_single_communicator();
};

}  // namespace loci::train
