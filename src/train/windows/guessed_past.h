// SPDX-License-Identifier: Apache-2.0
// Windows whose past is partly the model's own work. A stream goes on from what it made itself,
// which is softer than any recording; a model that only ever saw recordings trusts it too much, and
// its errors pile up.
#pragma once

#include <vector>

#include "loci/model/transformer/transformer.h"
#include "loci/train/windows/history_access.h"
#include "loci/train/windows/window.h"
#include "loci/train/windows/window_pass.h"

namespace loci::train {

// Replaces about half of the window's chunks by what `transformer` takes them for, seeing them
// under much noise and the others clean. Nothing of it has a gradient. `text` as CaptionEncoder
// gives it.
GuessedPast guess_past(const model::Transformer& transformer, const Window& window,
                       const HistoryAccessConfig& history, const at::Tensor& text, uint64_t key);

}  // namespace loci::train
