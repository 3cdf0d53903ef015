// SPDX-License-Identifier: Apache-2.0
// Replays a recording through a model and reads the attention of chosen latents to their history.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "loci/eval/analysis/attention_share.h"
#include "loci/eval/metrics/covisibility.h"
#include "loci/sample/stream/stream.h"

namespace loci::eval {

struct ReplayOptions {
  double timestep = 500;  // noise of the chunk that is looked at, of 1000
  uint64_t seed = 42;     // of that noise
  std::vector<model::Readout> readouts = {model::Readout::kOn};
};

// By layer: a share for each instant.
using LayerShares = std::map<int64_t, std::vector<AttentionShare>>;

// `stream` is new and gets all of `latents` [1, z, n, h, w], committed as they are. `views` are the
// latents' cameras and depths; `instants` the latents to look at, ascending. Where their chunk
// is open, its noised latents are passed through once for each readout, in their order. A latent
// without any history has no queries that count.
std::vector<LayerShares> replay_attention(sample::Stream& stream, const at::Tensor& latents,
                                          std::span<const FrameView> views,
                                          std::span<const int64_t> instants,
                                          const camera::TokenGrid& grid,
                                          const ReplayOptions& options);

}  // namespace loci::eval
