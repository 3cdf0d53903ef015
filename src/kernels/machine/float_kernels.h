// SPDX-License-Identifier: Apache-2.0
// The kernels that every instruction set implements with FP32 vectors of its own width. Included by
// kernels_<instruction set>.cpp.
#pragma once

#include "loci/kernels/attention/attention_backward_loops.h"
#include "loci/kernels/attention/attention_loops.h"
#include "loci/kernels/convolution/conv_weight_gradient_loops.h"
#include "loci/kernels/delta_rule/delta_rule_loops.h"
#include "loci/kernels/elementwise/gelu_loops.h"
#include "loci/kernels/elementwise/norm_silu_loops.h"
#include "loci/kernels/elementwise/residual_norm_loops.h"
#include "loci/kernels/elementwise/rms_norm_loops.h"
#include "loci/kernels/linear/packed_linear_loops.h"
#include "loci/kernels/machine/kernel_table.h"

namespace loci::kernels {
namespace {

// kLanes: FP32 numbers in a vector. kTileRows: rows of a matrix tile that is two vectors wide, as
// many as the accumulators of the instruction set allow.
template <int kLanes, int kTileRows>
void add_float_kernels(KernelTable& table) {
  constexpr int kPackLanes = kLanes < 8 ? kLanes : 8;
  const attention_kernels::Attend attend = {attention_kernels::Loops<kLanes, 2, kTileRows>::attend,
                                            attention_kernels::PanelLayout::kColumns};
  table.attention = {attend, attend, attention_kernels::pack<kPackLanes>};
  const auto backward = attention_backward_kernels::Backward<kLanes, 2, kTileRows>::run;
  table.attention_backward = {backward, backward};
  table.conv_weight_gradient = conv_weight_gradient_kernels::Loops<kLanes, kTileRows>::kKernels;
  using DeltaRule = delta_rule_kernels::DeltaRule<kLanes, 2, kTileRows>;
  table.delta_rule = {DeltaRule::run_forward, DeltaRule::run_backward};
  table.gelu = gelu_kernels::Loops<kLanes>::kKernels;
  table.norm_silu = norm_silu_kernels::Loops<kLanes>::kKernels;
  table.packed_linear.wide = packed_linear_kernels::FloatLoops<kLanes, 2, kTileRows>::kKernels;
  table.residual_norm = residual_norm_kernels::Loops<kLanes>::kKernels;
  table.rms_norm = rms_norm_kernels::Loops<kLanes>::kKernels;
}

}  // namespace
}  // namespace loci::kernels
