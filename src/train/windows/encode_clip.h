// SPDX-License-Identifier: Apache-2.0
// From frames to latents: a recorded clip as training windows are cut from it.
#pragma once

#include "loci/model/autoencoder/vae.h"
#include "loci/train/windows/latent_folder.h"
#include "loci/world/recording/clip.h"

namespace loci::train {

// The clip must have 1 + 4n frames (for a temporal factor of 4). Latents are kept in BF16.
LatentClip encode_clip(const model::Vae& vae, const world::Clip& clip);

}  // namespace loci::train
