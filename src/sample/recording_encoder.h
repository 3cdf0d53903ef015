// SPDX-License-Identifier: Apache-2.0
// Encodes recorded frames to latents and gives them to a stream.
#pragma once

#include <functional>
#include <span>

#include <ATen/core/Tensor.h>

#include "loci/camera/camera.h"
#include "loci/model/autoencoder/vae_stream.h"
#include "loci/sample/stream/stream.h"

namespace loci::sample {

// One recording from its first frame on. The latents do not depend on how its frames are divided
// into calls.
class RecordingEncoder {
 public:
  // `vae` must outlive the encoder.
  explicit RecordingEncoder(const model::Vae& vae, const model::VaeTiling& tiling = {});

  // Encodes the next frames, uint8 [T, H, W, 3], to latents [1, z, n, h, w] in model space. The
  // frames must fill whole latents: T = 1 + (n - 1) * temporal factor in the first call, n *
  // temporal factor in later calls.
  at::Tensor encode(const at::Tensor& frames);

  // Encodes the next frames and accepts them as one recorded chunk of the stream, with one camera
  // per latent.
  Chunk accept(Stream& stream, const at::Tensor& frames, std::span<const camera::Camera> cameras);

  // Returns `count` frames from `first` on as uint8 [T, H, W, 3].
  using ReadFrames = std::function<at::Tensor(int64_t first, int64_t count)>;
  using TakeChunk = std::function<void(const Chunk& chunk)>;
  // Reads, encodes and accepts a recording with one camera per latent, chunk by chunk, from the
  // first frame on. Calls `take` after each chunk. Interrupts end it between chunks.
  void accept_all(Stream& stream, std::span<const camera::Camera> cameras, const ReadFrames& read,
                  const TakeChunk& take);

 private:
  const model::Vae* vae_;
  model::VaeEncoder encoder_;
};

}  // namespace loci::sample
