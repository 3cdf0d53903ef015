// SPDX-License-Identifier: Apache-2.0
// Pictures and recordings as people have them, of any size, to latents.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

#include <ATen/core/Tensor.h>

#include "loci/io/media/frames.h"
#include "loci/model/autoencoder/vae_stream.h"

namespace loci::model {

// The latent [1, z, 1, h, w], in model space, of a first frame: an image uint8 [H, W, 3], resized
// and cut at the centre to width x height as Wan does it, which a log line then says. A target that
// does not divide into latents and an image that is not RGB are bad input.
at::Tensor encode_image(const Vae& vae, const at::Tensor& image, int64_t width, int64_t height,
                        const VaeStreamOptions& options = {});

// The latents [1, z, n, h, w] of the next frames of `source`, at most `most_latents`, fitted in the
// same way. Reads and encodes a few frames at a time, so any length fits. Frames at the end that
// do not fill a latent are left out, which a log line says.
at::Tensor encode_video(const Vae& vae, io::FrameSource& source, int64_t width, int64_t height,
                        int64_t most_latents = std::numeric_limits<int64_t>::max(),
                        const VaeStreamOptions& options = {});

}  // namespace loci::model
