// SPDX-License-Identifier: Apache-2.0
// Files of small decoders with random weights, in the layout of taew2_2.
#pragma once

#include <filesystem>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "loci/io/tensors/safetensors.h"

namespace loci::testing {

// Decodes latents of `z_dim` channels, 8 * patch pixels and 4 frames.
inline io::NamedTensors random_tiny_decoder(int64_t z_dim, int64_t patch) {
  io::NamedTensors tensors;
  const auto conv = [&](int64_t layer, const char* part, int64_t out, int64_t in, int64_t kernel,
                        bool bias) {
    const std::string name = fmt::format("decoder.{}.{}", layer, part);
    tensors.emplace_back(name + "weight", at::randn({out, in, kernel, kernel}) * 0.2);
    if (bias) tensors.emplace_back(name + "bias", at::randn({out}) * 0.1);
  };
  conv(1, "", 4, z_dim, 3, true);
  const int64_t channels[] = {4, 3, 2, 2}, growth[] = {1, 2, 2};
  for (int64_t level = 0, layer = 3; level < 3; ++level, layer += 6) {
    const int64_t n = channels[level];
    for (int64_t block = layer; block < layer + 3; ++block) {
      conv(block, "conv.0.", n, 2 * n, 3, true);
      conv(block, "conv.2.", n, n, 3, true);
      conv(block, "conv.4.", n, n, 3, true);
    }
    conv(layer + 4, "conv.", n * growth[level], n, 1, false);
    conv(layer + 5, "", channels[level + 1], n, 3, false);
  }
  conv(22, "", 3 * patch * patch, 2, 3, true);
  tensors.back().second.fill_(0.5);
  return tensors;
}

inline void write_tiny_decoder(const std::filesystem::path& path, int64_t z_dim, int64_t patch) {
  io::write_safetensors(path, random_tiny_decoder(z_dim, patch));
}

}  // namespace loci::testing
