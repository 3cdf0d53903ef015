// SPDX-License-Identifier: Apache-2.0
// Stage "generated past": replaces part of a window's past by chunks that the model generates. A
// stream continues from its own output, which is smoother than recorded frames. A model that was
// trained on recorded frames only relies too much on such a past, and its errors accumulate.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/transformer/transformer.h"
#include "loci/train/data/captions.h"
#include "loci/train/data/window.h"
#include "loci/train/windows/visible_history.h"

namespace loci::train {

struct GeneratedPast {
  at::Tensor latents;        // [C, F, h, w]: generated chunks, elsewhere the window's latents
  std::vector<bool> chunks;  // per chunk after frame 0: whether it was generated; empty: none
};

// Replaces about half of the chunks by the model's estimate of the clean chunk in one denoising
// step from a high noise level, while the other chunks are nearly clean. The result has no
// gradient. `text` as CaptionEncoder returns it.
GeneratedPast generate_past(const model::Transformer& transformer, const Window& window,
                            const HistoryConfig& history, const at::Tensor& text, uint64_t key);

// The stage: generates the past of `share` of the windows and returns an empty result for the
// others.
GeneratedPast draw_generated_past(double share, const model::Transformer& transformer,
                                  const CaptionEncoder& captions, const Window& window,
                                  const HistoryConfig& history, uint64_t key);

}  // namespace loci::train
