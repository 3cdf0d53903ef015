// SPDX-License-Identifier: Apache-2.0
// A model as the start of one with smaller patches or more channels: it learns where things are
// from few tokens, cheaply, and what they look like from many.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

namespace loci::train {

// What a token is made of: patch x patch latents of so many channels.
struct PatchShape {
  int64_t patch, channels;

  bool operator==(const PatchShape&) const = default;
};

// A smaller patch has to divide the larger one; channels are added, not taken away.
bool can_grow(const PatchShape& from, const PatchShape& to);

// The parameter `name` of a transformer for one with other tokens. Only patch_embedding and
// proj_out depend on them: a small patch is embedded as if it filled a large one, and its output is
// the mean of what the large one's had in its place, so that where both are constant nothing
// changes; channels that are added, the last ones, are not heard at first, and their output is
// zero.
at::Tensor grown_for(const std::string& name, const at::Tensor& parameter, const PatchShape& from,
                     const PatchShape& to);

}  // namespace loci::train
