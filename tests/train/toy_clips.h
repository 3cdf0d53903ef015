// SPDX-License-Identifier: Apache-2.0
// A toy world in latent space for training tests: what a camera sees is a smooth function of where
// it looks, so a model can learn it in seconds.
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

// A folder of the running test, emptied.
std::filesystem::path fresh_folder(const std::string& name);

// A random autoencoder's sizes: 8 pixels a latent and side.
model::VaeConfig toy_vae(int64_t channels);

}  // namespace loci::train
