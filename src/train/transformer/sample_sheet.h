// SPDX-License-Identifier: Apache-2.0
// Sample pictures of a model in training at returns.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/model/transformer/transformer.h"
#include "loci/train/data/captions.h"
#include "loci/train/data/window.h"
#include "loci/train/transformer/validation.h"

namespace loci::train {

// Selects, among the first windows of `source`, those whose last chunk returns to a view after the
// longest time. Each has two rows: the recorded last chunk, and below it the last chunk generated
// from the recorded past. Returns uint8 [H, W, 3].
at::Tensor sample_sheet(const model::Transformer& transformer, const CaptionEncoder& captions,
                        const WindowSource& source, const ValidationConfig& config, int64_t window,
                        uint64_t seed);

}  // namespace loci::train
