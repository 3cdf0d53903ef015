// SPDX-License-Identifier: Apache-2.0
// Adapts the weights of a model to smaller patches or more channels. Training can then begin with
// few tokens, which is cheap, and add detail with more tokens.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

namespace loci::train {

// A token covers patch x patch latent pixels with this many channels.
struct PatchShape {
  int64_t patch, channels;

  bool operator==(const PatchShape&) const = default;
};

// Whether the new patch size divides the old one and no channel is removed.
bool can_grow(const PatchShape& from, const PatchShape& to);

// The parameter `name` of a transformer, adapted from one patch shape to another. Only
// patch_embedding and proj_out change. A small patch is embedded as if its content filled a large
// one, and its output is the mean of the large patch's output at its position; for constant content
// nothing changes. Added channels, which come last, have zero weights, so that they have no effect
// before training, and their output is zero.
at::Tensor grown_for(const std::string& name, const at::Tensor& parameter, const PatchShape& from,
                     const PatchShape& to);

}  // namespace loci::train
