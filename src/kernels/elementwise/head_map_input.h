// SPDX-License-Identifier: Apache-2.0
// Shared by head_map() and rms_norm_heads(): conversion of a HeadMap to the input of the loops, and
// its storage in the autograd graph for the backward pass.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include "loci/kernels/elementwise/head_map.h"
#include "loci/kernels/elementwise/head_map_kernel.h"

namespace loci::kernels {

// Checks that the parts of the map do not exceed the head, and that parts without an order do not
// overlap.
void check_map(const HeadMap& map, int64_t channels);

// The map with contiguous FP32 tables, as the loops require.
HeadMap prepared_map(HeadMap map);

// The loop input for x [batch, tokens, heads, channels]. `map` is a prepared_map() and must outlive
// it.
head_map_kernels::TokenMap token_map(const HeadMap& map, int64_t batch, int64_t tokens,
                                     int64_t heads, int64_t channels, bool transposed);

void hold_map(torch::autograd::AutogradContext& context, const HeadMap& map);
const HeadMap& held_map(torch::autograd::AutogradContext& context);

}  // namespace loci::kernels
