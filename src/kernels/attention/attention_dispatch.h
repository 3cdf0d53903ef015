// SPDX-License-Identifier: Apache-2.0
// What attention() and AttentionPast share: where the kernel applies, and how tensors become its
// work.
#pragma once

#include "loci/kernels/attention/attention.h"
#include "loci/kernels/attention/attention_kernel.h"

namespace loci::kernels {

// Whether numbers kept on `stored` and used on `device` in `dtype` are the kernel's.
bool kernel_applies(at::Device stored, at::Device device, at::ScalarType dtype, int64_t channels);

attention_kernels::Number number_type(at::ScalarType dtype);
attention_kernels::SlotRows slot_rows(const SlotTensor& slots);

// One set of loops, and how they want their keys laid out.
struct AttentionLoops {
  void (*attend)(const attention_kernels::Work& work);
  attention_kernels::PanelLayout layout;
};

// Those of the current level for queries of `dtype`.
AttentionLoops attention_loops(at::ScalarType dtype);

// Queries in BF16 are attended to by `loops` as long as this lives. For testing loops whose
// instructions the machine does not have; not to be made while kernels run.
class PairLoopsOverride {
 public:
  explicit PairLoopsOverride(AttentionLoops loops);
  ~PairLoopsOverride();
  PairLoopsOverride(const PairLoopsOverride&) = delete;
  PairLoopsOverride& operator=(const PairLoopsOverride&) = delete;
};

// Keys in panels of `dtype`: [B, H, panels, D, kPanel] FP32 or BF16 if they are for columns,
// [B, H, panels, D / 2, kPanel, 2] BF16 if they are for pairs. `turn` may be null.
at::Tensor pack_keys(const SlotTensor& key, const std::vector<int64_t>& index, at::ScalarType dtype,
                     attention_kernels::PanelLayout layout, const HeadMap* turn);
attention_kernels::PanelLayout layout_of(const at::Tensor& panels);

// Reads what a past keeps.
class PastReader {
 public:
  // For queries that `layout` is for. Keys that were laid out for other loops are laid out again,
  // and `again` keeps them.
  static attention_kernels::KeySet key_set(const AttentionPast& past, const at::Tensor& query,
                                           attention_kernels::PanelLayout layout,
                                           at::Tensor& again);
};

}  // namespace loci::kernels
