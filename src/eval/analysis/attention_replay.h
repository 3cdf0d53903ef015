// SPDX-License-Identifier: Apache-2.0
// Replays a recording through a model and measures how given latent frames attend to their history.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "loci/eval/analysis/attention_share.h"
#include "loci/eval/metrics/covisibility.h"
#include "loci/sample/stream/stream.h"

namespace loci::eval {

struct ReplayOptions {
  double timestep = 500;  // noise level of the measured chunk times 1000
  uint64_t seed = 42;     // of that noise
  std::vector<model::Readout> readouts = {model::Readout::kOn};
};

// By layer: one share per measured latent frame.
using LayerShares = std::map<int64_t, std::vector<AttentionShare>>;

// `stream` must be new. All of `latents` [1, z, n, h, w] are committed to it unchanged. `views` has
// the camera and depth of every latent frame; `instants` are the latent frames to measure,
// ascending. The chunk of a measured frame is noised and passed through the model once per readout.
// Returns one entry per readout. Queries of a latent frame without history are counted as excluded.
std::vector<LayerShares> replay_attention(sample::Stream& stream, const at::Tensor& latents,
                                          std::span<const DepthFrame> views,
                                          std::span<const int64_t> instants,
                                          const camera::TokenGrid& grid,
                                          const ReplayOptions& options);

}  // namespace loci::eval
