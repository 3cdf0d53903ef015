// SPDX-License-Identifier: Apache-2.0
// Sizes and settings of the transformer: the config.json of a model folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/camera/frame_projection.h"
#include "loci/camera/geometry.h"
#include "loci/camera/time_grid.h"
#include "loci/memory/history/history_planner.h"
#include "loci/model/transformer/ray_encoding.h"
#include "loci/model/transformer/token_maps.h"

namespace loci::model {

// The map of queries, keys, values and output in softmax attention: the backbone's rotary encoding
// of queries and keys, or that followed by the projection of the token's frame, which also maps
// values and output.
enum class AttentionMap { kRotary, kProjection };

// The camera branch of every block: along rays with own queries, keys and values; attention of the
// main queries, keys and values under the projection of the token's frame, with its own output
// projection; or none.
enum class CameraBranchKind { kRays, kProjection, kNone };

// Keys and values of a chunk's history: those of the commit passes, or computed again for each
// chunk from the latents of the visible frames.
enum class HistoryKeys { kCommitted, kRecomputed };

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
  // The published system that the model belongs to (see weights/systems.h); empty for LOCI.
  std::string system;
  AttentionMap attention_map = AttentionMap::kRotary;
  CameraBranchKind camera_branch = CameraBranchKind::kRays;
  camera::ProjectionOptions projection;  // for kProjection of either
  // Whether projections use the poses as given instead of relative to the first frame.
  bool world_poses = false;
  int64_t tile_stride = 1;  // of the projection's tiles, see kernels::HeadMap
  memory::KeyTimes key_times = memory::KeyTimes::kPolicy;
  double time_offset = 0;  // temporal position of frame 0; not with KeyTimes::kWindow
  HistoryKeys history_keys = HistoryKeys::kCommitted;
  bool given_in_chunk = false;   // see camera::TimeGrid
  bool camera_at_start = false;  // see camera::TimeGrid
  // Weight of the embedding of the timestep to which a denoising step leads, next to that of its
  // own timestep; 0 = the model has no such embedding.
  double target_time_gate = 0;
  // Values of an action per latent frame, and number of embodiments; 0 = none.
  int64_t action_dim = 0, embodiments = 0;
  // Factor of the stored values of frame 0.
  double first_value_scale = 1;
  // Format of the large linear layers' weights: "none", "int8" or "int4".
  std::string quantization = "none";

  int64_t width() const { return heads * kHeadChannels; }
  int64_t camera_heads() const {
    if (camera_branch == CameraBranchKind::kNone) return 0;
    return camera_branch == CameraBranchKind::kRays ? heads / camera_attn_compress : heads;
  }
  // Whether the maps of the model depend on the rays of tokens.
  bool uses_rays() const {
    return camera_branch == CameraBranchKind::kRays || !hybrid_layers.empty();
  }
  // Whether keys are stored before the map, because it changes from chunk to chunk.
  bool stores_raw_keys() const { return key_times == memory::KeyTimes::kWindow; }
  camera::TimeGrid time_grid(int64_t frames_per_latent = 4) const {
    return {frames_per_latent, chunk_size, given_in_chunk, camera_at_start};
  }
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
