// SPDX-License-Identifier: Apache-2.0
// The plain Wan2.2 transformer in ATen operations, with the original's weight names. It shares no
// code with the engine.
#pragma once

#include <map>
#include <string>

#include <ATen/ATen.h>

namespace loci::testing {

struct WanSizes {
  int64_t heads = 2, layers = 2, channels = 3, ffn = 48, text_dim = 16, text_len = 5, freq_dim = 32;
  int64_t width() const { return heads * 128; }
};

using WanWeights = std::map<std::string, at::Tensor>;  // original names, FP64

// Random weights with a magnitude that keeps activations near one.
WanWeights random_wan_weights(const WanSizes& sizes, uint64_t seed);

// latents [C, F, h, w], timesteps [F], text [l, text_dim], l <= text_len → velocity.
// Attention is over all frames. FP64.
at::Tensor wan_velocity(const WanSizes& sizes, const WanWeights& weights, const at::Tensor& latents,
                        const at::Tensor& timesteps, const at::Tensor& text);

}  // namespace loci::testing
