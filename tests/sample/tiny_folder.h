// SPDX-License-Identifier: Apache-2.0
// A model folder of a few kilobytes with random weights.
#pragma once

#include <cstdint>
#include <filesystem>

#include "loci/model/autoencoder/vae_config.h"
#include "loci/model/transformer/config.h"

namespace loci::testing {

inline constexpr int64_t kTinyWidth = 48, kTinyHeight = 32;

// An autoencoder with 8x8 pixels and 4 frames per latent, and 3 channels.
model::VaeConfig tiny_vae_config();

// Chunks of two latents (half a second), two denoising steps, no text encoder.
void make_tiny_folder(const std::filesystem::path& folder, uint64_t seed);
// With another transformer for latents of three channels.
void make_tiny_folder(const std::filesystem::path& folder, uint64_t seed,
                      const model::TransformerConfig& config);

}  // namespace loci::testing
