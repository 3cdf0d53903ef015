// SPDX-License-Identifier: Apache-2.0
// What head_map() and rms_norm_heads() share: how a HeadMap becomes the loops' input, and how a
// graph holds it for its backward pass.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include "loci/kernels/elementwise/head_map.h"
#include "loci/kernels/elementwise/head_map_kernel.h"

namespace loci::kernels {

// Parts must neither overlap nor reach beyond the head.
void check_map(const HeadMap& map, int64_t channels);

// The map with tables as the loops want them: FP32, contiguous.
HeadMap prepared_map(HeadMap map);

// A prepared map for x [batch, tokens, heads, channels]; valid as long as the map is.
head_map_kernels::TokenMap token_map(const HeadMap& map, int64_t batch, int64_t tokens,
                                     int64_t heads, int64_t channels, bool transposed);

void hold_map(torch::autograd::AutogradContext& context, const HeadMap& map);
const HeadMap& held_map(torch::autograd::AutogradContext& context);

}  // namespace loci::kernels
