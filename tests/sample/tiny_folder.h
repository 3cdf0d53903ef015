// SPDX-License-Identifier: Apache-2.0
// A model folder of a few kilobytes with random weights.
#pragma once

#include <cstdint>
#include <filesystem>

#include "loci/model/transformer/config.h"
#include "loci/model/autoencoder/vae_config.h"

namespace loci::testing {

inline constexpr int64_t kTinyWidth = 48, kTinyHeight = 32;

// An autoencoder of 8x8 pixels and 4 frames a latent of 3 channels.
model::VaeConfig tiny_vae_config();

// Chunks of two latents of four frames, half a second; two steps; no text encoder.
void make_tiny_folder(const std::filesystem::path& folder, uint64_t seed);
// With a transformer of those sizes, for latents of three channels.
void make_tiny_folder(const std::filesystem::path& folder, uint64_t seed,
                      const model::TransformerConfig& config);

}  // namespace loci::testing
