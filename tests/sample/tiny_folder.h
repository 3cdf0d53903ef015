// SPDX-License-Identifier: Apache-2.0
// A model folder of a few kilobytes with random weights, and options of streams of such models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "loci/model/autoencoder/vae_config.h"
#include "loci/model/transformer/config.h"
#include "loci/sample/stream/stream_options.h"

namespace loci::testing {

inline constexpr int64_t kTinyWidth = 48, kTinyHeight = 32;

// An autoencoder with 8x8 pixels and 4 frames per latent, and 3 channels.
model::VaeConfig tiny_vae_config();

// A stream of latents of 4x6 with this history policy, bounded to 6 frames (pinned: 14), of which 3
// are recent.
sample::StreamOptions tiny_stream_options(const std::string& history, int64_t steps);

// The name of a world file for a test, unique to this process.
std::string temporary_world(const std::string& name);

// Chunks of two latents (half a second), two denoising steps, no text encoder.
void make_tiny_folder(const std::filesystem::path& folder, uint64_t seed);
// With another transformer for latents of three channels.
void make_tiny_folder(const std::filesystem::path& folder, uint64_t seed,
                      const model::TransformerConfig& config);

}  // namespace loci::testing
