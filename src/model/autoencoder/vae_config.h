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
  int64_t num_res_blocks = 2;                    // a level of the encoder; the decoder has one more
  std::vector<bool> temporal_downsample = {false, true, true};  // between levels, finest first
  int64_t patch_size = 2;  // pixels become channels in patches of this side
  // Whether the decoder doubles its frames by turning channels into pixels instead of repeating
  // pixels as Wan2.2 does: a narrow network draws the inside of a 16x16 block sooner that way.
  bool shuffle = false;
  // Whether a linear transform of whole blocks (block_transform.h) stands in the encoder's place,
  // and the decoder adds to its inverse what a linear map cannot give.
  bool block_transform = false;
  // Of the network that looks at the decoded picture once more (vae_refiner.h); 0 channels: none.
  int64_t refiner_dim = 0, refiner_blocks = 2;
  std::vector<double> latents_mean, latents_std;  // [z_dim], of the encoder's mean

  // The published sizes and statistics.
  static VaeConfig wan22();
  // `where` names the file in messages.
  static VaeConfig from_json(const Json& json, const std::string& where);
  Json to_json() const;

  int64_t patch_channels() const { return 3 * patch_size * patch_size; }
  int64_t spatial_factor() const;   // pixels a latent, per side: 16
  int64_t temporal_factor() const;  // frames a latent after the first: 4

  // Refuses a frame size that does not divide into latents, naming one that does.
  void check_frame_size(int64_t height, int64_t width) const;
};

}  // namespace loci::model
