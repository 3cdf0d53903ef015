// SPDX-License-Identifier: Apache-2.0
// The autoencoder that a recipe starts from.
#pragma once

#include "loci/model/autoencoder/vae.h"
#include "loci/train/autoencoder/vae_recipe.h"

namespace loci::train {

// With random weights, or from recipe.start. Networks and channels that recipe.start lacks have no
// effect on latents and decoded frames at first. The block transform does not contain the new
// channels yet (transform_fit.h).
model::Vae initial_vae(const VaeRecipe& recipe);

}  // namespace loci::train
