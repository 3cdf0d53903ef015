// SPDX-License-Identifier: Apache-2.0
// Pictures of what a model in training makes of a place it comes back to.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/model/transformer/transformer.h"
#include "loci/train/windows/captions.h"
#include "loci/train/loop/validation.h"
#include "loci/train/windows/window.h"

namespace loci::train {

// Of the source's first windows, those whose last chunk returns to a view after the longest time. A
// pair of rows each: the recorded last chunk above, generated from the true past below. uint8
// [H, W, 3].
at::Tensor sample_sheet(const model::Transformer& transformer, const CaptionEncoder& captions,
                        const WindowSource& source, const ValidationConfig& config, int64_t window,
                        uint64_t seed);

}  // namespace loci::train
