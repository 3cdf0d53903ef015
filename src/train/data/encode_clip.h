// SPDX-License-Identifier: Apache-2.0
// Encodes a recorded clip to the latents from which training windows are cut.
#pragma once

#include "loci/model/autoencoder/vae.h"
#include "loci/train/data/latent_folder.h"
#include "loci/world/recording/clip.h"

namespace loci::train {

// The clip must have 1 + 4n frames (for a temporal factor of 4). The latents are BF16.
LatentClip encode_clip(const model::Vae& vae, const world::Clip& clip);

}  // namespace loci::train
