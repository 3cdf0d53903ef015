// SPDX-License-Identifier: Apache-2.0
// A model that was trained with large patches as the start of one with smaller patches: it learns
// where things are from few tokens, cheaply, and what they look like from many.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

namespace loci::train {

// The parameter `name` of a transformer with patches of from x from latents and `channels`
// channels, for one with patches of to x to, a divisor. Only patch_embedding and proj_out depend on
// the patch: a small patch is embedded as if it filled a large one, and its output is the mean of
// what the large one's had in its place; where both are constant nothing changes.
at::Tensor for_finer_patches(const std::string& name, const at::Tensor& parameter, int64_t from,
                             int64_t to, int64_t channels);

}  // namespace loci::train
