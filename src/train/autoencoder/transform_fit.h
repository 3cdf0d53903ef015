// SPDX-License-Identifier: Apache-2.0
// The best linear map of an autoencoder with a block transform, from clips and without training.
#pragma once

#include "loci/model/autoencoder/vae.h"
#include "loci/train/autoencoder/video_clips.h"

namespace loci::train {

// Sets the transform of `vae` from `count` clips. The channels are the principal components of
// clips' blocks, the strongest first, with mean 0, deviations in proportion to the root of the
// components' own, and a mean square of 1. An image is encoded like a clip
// that stands still, so that both have one space of latents, and decoded by least squares.
void fit_transform(model::Vae& vae, VideoClips& clips, int64_t count);

// Sets the channels of the transform from `kept` on, the others staying as they are: the principal
// components of what those leave of blocks, scaled like them.
void extend_transform(model::Vae& vae, int64_t kept, VideoClips& clips, int64_t count);

}  // namespace loci::train
