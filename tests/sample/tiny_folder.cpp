// SPDX-License-Identifier: Apache-2.0
#include "tests/sample/tiny_folder.h"

#include <unistd.h>

#include <fmt/format.h>

#include "loci/base/config.h"
#include "loci/base/file.h"
#include "loci/model/autoencoder/vae.h"
#include "loci/model/weights/weights.h"

#include "tests/model/tiny_model.h"

namespace loci::testing {

model::VaeConfig tiny_vae_config() {
  model::VaeConfig config;
  config.base_dim = 4;
  config.decoder_base_dim = 4;
  config.z_dim = 3;
  config.dim_mult = {1, 1, 1};
  config.num_res_blocks = 1;
  config.temporal_downsample = {true, true};
  config.latents_mean = {0, 0.1, 0.2};
  config.latents_std = {1, 0.9, 1.1};
  return config;
}

sample::StreamOptions tiny_stream_options(const std::string& history, int64_t steps) {
  sample::StreamOptions options;
  options.latent_height = 4;
  options.latent_width = 6;
  options.history.kind = history;
  options.history.budget = history == "pinned" ? 14 : 6;
  options.history.recent = 3;
  options.solver.steps = steps;
  return options;
}

std::string temporary_world(const std::string& name) {
  return (std::filesystem::temp_directory_path() /
          fmt::format("loci_{}_{}.world", name, ::getpid()))
      .string();
}

void make_tiny_folder(const std::filesystem::path& folder, uint64_t seed) {
  make_tiny_folder(folder, seed, tiny_config());
}

void make_tiny_folder(const std::filesystem::path& folder, uint64_t seed,
                      const model::TransformerConfig& config) {
  const model::Transformer transformer = random_transformer(config, at::kFloat, seed);
  model::SaveOptions options;
  options.dtype = at::kFloat;
  std::filesystem::create_directories(folder);
  model::save_model(transformer.config(), transformer.parameters().all(), folder, options);
  std::filesystem::create_directories(folder / "vae");
  model::Vae(tiny_vae_config()).save(folder / "vae");
  const Json defaults = {{"width", kTinyWidth}, {"height", kTinyHeight}, {"steps", 2}, {"fov", 75}};
  write_file(folder / "generation.json", defaults.dump());
}

}  // namespace loci::testing
