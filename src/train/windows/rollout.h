// SPDX-License-Identifier: Apache-2.0
// Windows that a model generates itself, along a recorded path.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "loci/model/transformer/transformer.h"
#include "loci/train/windows/window.h"

namespace loci::train {

// The window's latents [C, F, h, w] with those from frame `given` on (1 + a multiple of the chunk
// size) generated in `steps` Euler steps a chunk, the whole past visible. `text` as CaptionEncoder
// gives it.
at::Tensor continue_window(const model::Transformer& transformer, const Window& window,
                           int64_t given, const at::Tensor& text, int64_t steps, uint64_t seed);

}  // namespace loci::train
