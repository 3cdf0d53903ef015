// SPDX-License-Identifier: Apache-2.0
// Initial weights from a model folder.
#pragma once

#include <filesystem>
#include <vector>

#include "loci/model/transformer/transformer.h"
#include "loci/train/data/captions.h"
#include "loci/train/loop/parameter_groups.h"

namespace loci::train {

// Copies the weights of the model in `folder` into `transformer`, and those of its text encoder if
// `text` trains one. Parameters that the folder lacks and those of the groups in `without` stay as
// they are. The folder's patches may be larger and its channels fewer (grown_patches.h). A folder
// without weights, quantized weights or tensors of other sizes are bad input.
void copy_start_weights(const std::filesystem::path& folder,
                        const std::vector<ParameterGroup>& without, const CaptionConfig& text,
                        const model::Transformer& transformer);

}  // namespace loci::train
