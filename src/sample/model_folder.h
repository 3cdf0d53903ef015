// SPDX-License-Identifier: Apache-2.0
// A model folder: transformer, autoencoder, optional text encoder, and defaults for generation.
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

// Values of generation.json in the model folder. Every key is optional.
struct GenerationDefaults {
  int64_t width = 768, height = 512;  // pixels
  double fps = 16;
  double fov = 90;  // degrees, horizontal
  double guidance = 1;
  SolverOptions solver;
  std::string history = "sparse";
  // Maximum number of retained frames that a chunk attends to under a bounded history policy.
  int64_t history_frames = StreamOptions().history.budget;
  int64_t archive = 0;  // maximum number of frames kept for retrieval; 0 = all
  int64_t sink_frames = memory::HistoryOptions().sink;  // first frames that the policy window keeps
  double commit_level = StreamOptions().commit_level;
  // Family of procedural scenes that the model was trained for: the name of a style. Empty: any.
  std::string family;

  // Keys that the file lacks are those of the system (see model/weights/systems.h).
  static GenerationDefaults load(const std::filesystem::path& folder,
                                 const std::string& system = "");
};

class ModelFolder {
 public:
  // Expects config.json and weights in the folder or in transformer/, vae/ or Wan2.2_VAE.pth, and
  // optionally a text encoder (see find_prompt_files()). `dtype` is the data type of the
  // transformer; the autoencoder uses FP32. `decoder` is the file of a small decoder that replaces
  // that of the autoencoder; empty: none. Weights are loaded at first use.
  explicit ModelFolder(std::filesystem::path folder, at::ScalarType dtype = at::kFloat,
                       std::filesystem::path decoder = {});

  const std::filesystem::path& path() const { return path_; }
  const model::Transformer& transformer() const;
  const model::Vae& vae() const;
  // Hashes of both models, computed at the first call.
  const ModelHashes& hashes() const;
  // Configs, without loading weights.
  const model::TransformerConfig& config() const { return config_; }
  model::VaeConfig vae_config() const;
  camera::TimeGrid time_grid() const { return config_.time_grid(vae_config().temporal_factor()); }
  const GenerationDefaults& defaults() const { return defaults_; }

  bool has_text_encoder() const;
  // Embeds both texts and frees the text encoder again. Results are cached in prompt_cache().
  // Without a text encoder the texts must be empty; their embeddings are zeros.
  Prompt prompt(const std::string& text, const std::string& negative) const;

  // Height and width of the latents of a frame in pixels. Bad input if the size does not divide
  // into tokens; the message suggests a size that does.
  std::pair<int64_t, int64_t> latent_size(int64_t height, int64_t width) const;

 private:
  std::filesystem::path path_;
  at::ScalarType dtype_;
  model::TransformerConfig config_;
  GenerationDefaults defaults_;
  std::filesystem::path vae_path_, decoder_path_;
  mutable std::optional<model::Transformer> transformer_;
  mutable std::optional<model::Vae> vae_;
  mutable std::optional<ModelHashes> hashes_;
};

// Folder of cached prompt embeddings: prompts/ in $LOCI_CACHE, $XDG_CACHE_HOME/loci or
// ~/.cache/loci. Empty if none of these variables is set.
std::filesystem::path prompt_cache();

}  // namespace loci::sample
