// SPDX-License-Identifier: Apache-2.0
// Sizes and settings of the transformer: the config.json of a model folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/camera/geometry.h"
#include "loci/model/transformer/ray_encoding.h"
#include "loci/model/transformer/token_maps.h"

namespace loci::model {

// The defaults are those of the 5B model.
struct TransformerConfig {
  int64_t heads = 24;     // num_attention_heads
  int64_t layers = 30;    // num_layers
  int64_t channels = 48;  // in_channels = out_channels
  int64_t patch = 2;      // patch_size [1, patch, patch]
  int64_t ffn_dim = 14336;
  int64_t text_dim = 4096;
  int64_t text_len = 512;  // tokens; shorter text embeddings are padded with zeros
  int64_t freq_dim = 256;  // channels of the sinusoidal timestep embedding
  double eps = 1e-6;
  int64_t chunk_size = 5;  // latent frames
  std::vector<int64_t> hybrid_layers = {2, 4, 6, 7, 8, 9, 11, 13, 14, 16, 23, 24, 25, 27, 28};
  int64_t camera_attn_compress = 4;  // camera heads = heads / this
  double kda_translation_scale = 6;  // metres; divides translations in the projections
  double kda_min_retention = 0.2;
  // Initial retention per grain of the memory (chunk, frame or token).
  double kda_start_retention = 0.7;
  double kda_phi_v_start = 1;  // initial phi_v: this factor times the identity
  // Write strength β at a logit of zero, near which β starts; the paper's is 1.
  double kda_start_beta = 1;
  std::string recurrent_memory = "chunk_kda";
  // Heads of the recurrent branch per attention head. They share its queries, keys and values, and
  // their readouts are added.
  int64_t recurrent_heads_per_head = 1;
  RayEncoding ray_encoding;  // of the memory ray_kda
  // Standard deviations of the latent channels. If given, the network predicts only the residual of
  // the velocity after its best linear prediction from the noisy latents, scaled to deviation 1, so
  // that a small network need not carry the noise through its width. Empty: the network predicts
  // the velocity.
  std::vector<double> linear_guess;
  // Format of the large linear layers' weights: "none", "int8" or "int4".
  std::string quantization = "none";

  int64_t width() const { return heads * kHeadChannels; }
  int64_t camera_heads() const { return heads / camera_attn_compress; }
  // Whether a block has a recurrent memory; false for all blocks if recurrent_memory is "none".
  bool is_hybrid(int64_t layer) const;
  bool is_quantized() const { return quantization != "none"; }
  int64_t recurrent_heads() const { return heads * recurrent_heads_per_head; }
  // β = 2 sigmoid(logit + this).
  double beta_offset() const;
  // What the memory's keys and values are mapped by (for make_token_maps).
  RecurrentMapping recurrent_mapping() const;
  camera::TokenGrid grid(int64_t latent_height, int64_t latent_width) const;

  // Reads a config.json of the release, its training code, original Wan2.2 or Diffusers. Unknown,
  // ill-typed and contradictory keys are bad input.
  static TransformerConfig from_json(const Json& json, const std::string& where);
  // Reads a section of a larger file. The reader's finish() rejects unknown keys.
  static TransformerConfig from(const ConfigReader& reader);
  static TransformerConfig load(const std::filesystem::path& file);
  Json to_json() const;
};

}  // namespace loci::model
