// SPDX-License-Identifier: Apache-2.0
// Fits the linear map of an autoencoder with a block transform to clips, without training.
#pragma once

#include "loci/model/autoencoder/vae.h"
#include "loci/train/data/video_clips.h"

namespace loci::train {

// Fits the transform of `vae` to `count` clips. The channels are the principal components of the
// clips' blocks, the strongest first. They have mean 0, standard deviations proportional to the
// square root of the components', and a mean square of 1. An image is encoded like a clip without
// motion, so that images and clips share one latent space, and decoded by least squares.
void fit_transform(model::Vae& vae, VideoClips& clips, int64_t count);

// Fits the channels from `kept` on to the residual that the first `kept` channels leave, and scales
// them alike. The first `kept` channels stay unchanged.
void extend_transform(model::Vae& vae, int64_t kept, VideoClips& clips, int64_t count);

}  // namespace loci::train
