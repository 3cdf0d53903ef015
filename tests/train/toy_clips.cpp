// SPDX-License-Identifier: Apache-2.0
#include "toy_clips.h"

#include <unistd.h>

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/base/random.h"
#include "loci/train/data/latent_folder.h"

namespace loci::train {

std::filesystem::path write_toy_clips(const std::filesystem::path& folder, int clips,
                                      int64_t frames) {
  std::filesystem::create_directories(folder);
  for (int n = 0; n < clips; ++n) {
    Random random{7, static_cast<uint64_t>(n)};
    const double phase = random.uniform(0, 6);
    const double speed = random.uniform(-0.1, 0.1);
    LatentClip clip;
    clip.latents = at::zeros({4, frames, 4, 4}, at::kFloat);
    auto x = clip.latents.accessor<float, 4>();
    for (int64_t f = 0; f < frames; ++f) {
      const double yaw = speed * static_cast<double>(f);
      clip.cameras.push_back(
          {{camera::rotation_from_angles(yaw, 0), {0, 0, 0.05 * static_cast<double>(f)}},
           {.fov_x = 1.2, .xi = 0, .normalised = {}}});
      for (int c = 0; c < 4; ++c) {
        for (int i = 0; i < 4; ++i) {
          for (int j = 0; j < 4; ++j) {
            x[c][f][i][j] =
                static_cast<float>(1.4 * std::sin(phase + 3 * yaw + 0.5 * j + 0.3 * i + c));
          }
        }
      }
    }
    clip.images = clip.latents.clone();
    clip.caption = "a toy";
    write_latent_clip(folder / fmt::format("clip-{:04}.safetensors", n), clip);
  }
  return folder;
}

Json toy_recipe(const std::filesystem::path& clips) {
  return {{"model",
           {{"num_attention_heads", 1},
            {"num_layers", 2},
            {"in_channels", 4},
            {"ffn_dim", 128},
            {"text_dim", 8},
            {"text_len", 2},
            {"chunk_size", 2},
            {"hybrid_layers", {1}},
            {"camera_attn_compress", 1}}},
          {"updates", 30},
          {"batch", 4},
          {"seed", 3},
          {"compute", "float32"},
          {"checkpoint_minutes", 1000},
          {"noise", {{"shift", 1}}},
          {"optimizer",
           {{"learning_rates", {{"backbone", 3e-3}, {"camera", 3e-3}, {"recurrent", 3e-3}}},
            {"clip", 1},
            {"warmup_updates", 2},
            {"decay_updates", 1000}}},
          {"phases", {{{"window", 7}, {"data", {{{"folder", clips.string()}}}}}}}};
}

std::filesystem::path fresh_folder(const std::string& name) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / fmt::format("loci-{}-{}", name, ::getpid());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

model::VaeConfig toy_vae(int64_t channels) {
  model::VaeConfig config;
  config.base_dim = config.decoder_base_dim = 4;
  config.z_dim = channels;
  config.dim_mult = {1, 1, 1};
  config.num_res_blocks = 1;
  config.temporal_downsample = {true, true};
  config.latents_mean.assign(static_cast<size_t>(channels), 0);
  config.latents_std.assign(static_cast<size_t>(channels), 1);
  return config;
}

}  // namespace loci::train
