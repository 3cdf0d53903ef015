// SPDX-License-Identifier: Apache-2.0
// Rollouts: windows that a model generates along recorded cameras.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "loci/model/transformer/transformer.h"
#include "loci/train/data/window.h"

namespace loci::train {

// Returns the window's latents [C, F, h, w], of which the frames from `given` on (1 + a multiple of
// the chunk size) are generated, in `steps` denoising steps per chunk with the whole past visible.
// `text` as CaptionEncoder returns it.
at::Tensor continue_window(const model::Transformer& transformer, const Window& window,
                           int64_t given, const at::Tensor& text, int64_t steps, uint64_t seed);

}  // namespace loci::train
