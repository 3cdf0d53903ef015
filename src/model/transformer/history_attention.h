// SPDX-License-Identifier: Apache-2.0
// Softmax attention of chunks over what they may see: retained frames and the chunk itself.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/model/transformer/forward_context.h"

namespace loci::model {

// query, key, value [B, N, H, 128] of all frames of the input → [B, N, H, 128].
// `past` is the branch's and layer's entry of PastKeys, null without one. `turn_keys`: whether the
// keys carry a time (main branch) and follow a chunk's compact times. `local` looks at the own
// chunk only.
at::Tensor history_attention(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, const ForwardContext& context,
                             const kernels::AttentionPast* past, bool turn_keys, bool local);

}  // namespace loci::model
