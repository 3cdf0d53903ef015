// SPDX-License-Identifier: Apache-2.0
// A folder with all that generation needs: transformer, autoencoder, text encoder, and the settings
// it was trained for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "loci/camera/time_grid.h"
#include "loci/model/autoencoder/vae.h"
#include "loci/model/transformer/transformer.h"
#include "loci/sample/solvers/solver.h"
#include "loci/sample/stream/stream.h"
#include "loci/sample/stream/stream_options.h"

namespace loci::sample {

// From generation.json in the folder, every key of it optional.
struct GenerationDefaults {
  int64_t width = 768, height = 512;  // pixels
  double fps = 16;
  double fov = 90;  // degrees, horizontal
  double guidance = 1;
  SolverOptions solver;
  std::string history = "sparse";
  int64_t history_frames = StreamOptions().history.budget;  // that a bounded one shows a chunk
  int64_t archive = 0;  // frames kept aside for retrieval; 0 = all
  double commit_level = StreamOptions().commit_level;

  // Options of a stream by these defaults, without its size.
  StreamOptions stream() const;
  static GenerationDefaults load(const std::filesystem::path& folder);
};

class ModelFolder {
 public:
  // config.json and weights in the folder or in transformer/; vae/ or Wan2.2_VAE.pth; a text
  // encoder where find_prompt_files() looks for it, or none. `dtype` is that of weights and
  // products of the transformer; the autoencoder runs in FP32. Weights are loaded at first use.
  explicit ModelFolder(std::filesystem::path folder, at::ScalarType dtype = at::kFloat);

  const std::filesystem::path& path() const { return path_; }
  const model::Transformer& transformer() const;
  const model::Vae& vae() const;
  // Of both, which do not change: computed once.
  const ModelHashes& hashes() const;
  // Without loading weights.
  const model::TransformerConfig& config() const { return config_; }
  model::VaeConfig vae_config() const;
  camera::TimeGrid time_grid() const {
    return {vae_config().temporal_factor(), config_.chunk_size};
  }
  const GenerationDefaults& defaults() const { return defaults_; }

  bool has_text_encoder() const;
  // Embeds both texts; the encoder is in memory no longer than that, and results are kept in
  // prompt_cache(). A folder without a text encoder takes empty ones only, which are zeros.
  Prompt prompt(const std::string& text, const std::string& negative) const;

  // Latents per side of a picture; a size that does not divide is bad input naming one that does.
  std::pair<int64_t, int64_t> latent_size(int64_t height, int64_t width) const;

 private:
  std::filesystem::path path_;
  at::ScalarType dtype_;
  GenerationDefaults defaults_;
  model::TransformerConfig config_;
  std::filesystem::path vae_path_;
  mutable std::optional<model::Transformer> transformer_;
  mutable std::optional<model::Vae> vae_;
  mutable std::optional<ModelHashes> hashes_;
};

// Where embeddings of prompts are kept: $LOCI_CACHE, else loci/ in $XDG_CACHE_HOME or ~/.cache,
// with prompts/ in it; nowhere (empty) without any of them.
std::filesystem::path prompt_cache();

}  // namespace loci::sample
