// SPDX-License-Identifier: Apache-2.0
// A toy scene in latent space for training tests. The latents are a smooth function of the view
// direction, so that a model learns them within seconds.
#pragma once

#include <filesystem>
#include <string>

#include "loci/base/config.h"
#include "loci/model/autoencoder/vae_config.h"

namespace loci::train {

// Writes `clips` clips of `frames` latents [4, frames, 4, 4] into a new folder and returns it.
std::filesystem::path write_toy_clips(const std::filesystem::path& folder, int clips,
                                      int64_t frames);

// A recipe for a model of two small blocks (one hybrid) on that folder.
Json toy_recipe(const std::filesystem::path& clips);

// An empty folder of the running test.
std::filesystem::path fresh_folder(const std::string& name);

// The config of a small autoencoder with a spatial factor of 8.
model::VaeConfig toy_vae(int64_t channels);

}  // namespace loci::train
