// SPDX-License-Identifier: Apache-2.0
// Sizes of a Wan2.2 video autoencoder, read from its config.json (Diffusers' AutoencoderKLWan).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loci/base/config.h"

namespace loci::model {

// The defaults are those of Wan2.2 TI2V-5B.
struct VaeConfig {
  int64_t base_dim = 160;          // encoder channels at the finest level
  int64_t decoder_base_dim = 256;  // decoder channels at the finest level
  int64_t z_dim = 48;
  std::vector<int64_t> dim_mult = {1, 2, 4, 4};  // finest level first
  int64_t num_res_blocks = 2;                    // per encoder level; the decoder has one more
  std::vector<bool> temporal_downsample = {false, true, true};  // between levels, finest first
  int64_t patch_size = 2;  // side of the pixel patches that become channels
  // Whether the decoder upsamples by pixel shuffle instead of repeating pixels as Wan2.2 does. A
  // narrow network learns the inside of a 16x16 block faster with pixel shuffle.
  bool shuffle = false;
  // Whether a linear transform of whole blocks (block_transform.h) encodes. The decoder network then
  // adds a correction to the inverse transform.
  bool block_transform = false;
  // With a block transform: whether an encoder network adds a correction to its latents. Without
  // one, there is no encoder network.
  bool encoder_correction = false;
  // Channels and residual blocks of the refiner of decoded pictures (vae_refiner.h); 0 channels:
  // no refiner.
  int64_t refiner_dim = 0, refiner_blocks = 2;
  std::vector<double> latents_mean, latents_std;  // [z_dim], statistics of the encoder's mean

  // The published sizes and statistics.
  static VaeConfig wan22();
  // `where` names the file in messages.
  static VaeConfig from_json(const Json& json, const std::string& where);
  Json to_json() const;

  int64_t patch_channels() const { return 3 * patch_size * patch_size; }
  bool has_encoder() const { return !block_transform || encoder_correction; }
  // Output of the encoder network: mean and log variance, or the correction to a transform.
  int64_t encoder_channels() const { return block_transform ? z_dim : 2 * z_dim; }
  int64_t spatial_factor() const;   // side of a latent in pixels: 16
  int64_t temporal_factor() const;  // frames per latent after the first: 4

  // Rejects a frame size that is not a multiple of a latent's side and suggests one that is.
  void check_frame_size(int64_t height, int64_t width) const;
};

}  // namespace loci::model
