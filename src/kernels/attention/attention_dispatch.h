// SPDX-License-Identifier: Apache-2.0
// Shared by attention(), attention_over_spans() and AttentionPast: when the kernel applies, and how
// tensors are passed to it.
#pragma once

#include "loci/kernels/attention/attention.h"
#include "loci/kernels/attention/attention_kernel.h"

namespace loci::kernels {

// Whether the kernel can attend to keys and values that are stored on device `stored` and used on
// `device` in `dtype`.
bool kernel_applies(at::Device stored, at::Device device, at::ScalarType dtype, int64_t channels);

attention_kernels::Number number_type(at::ScalarType dtype);
attention_kernels::SlotRows slot_rows(const SlotTensor& slots);

// The attention loop in use for queries of `dtype`, FP32 or BF16.
attention_kernels::Attend attend_kernel(at::ScalarType dtype);

// Packs the keys of slots `index` into panels of `dtype`: [B, H, panels, D, kPanel] in FP32 or BF16
// for kColumns, [B, H, panels, D / 2, kPanel, 2] in BF16 for kPairs. `rotation` is applied first;
// it may be null.
at::Tensor pack_keys(const SlotTensor& key, const std::vector<int64_t>& index, at::ScalarType dtype,
                     attention_kernels::PanelLayout layout, const HeadMap* rotation);
attention_kernels::PanelLayout layout_of(const at::Tensor& panels);

// Access to the private parts of AttentionPast.
class PastReader {
 public:
  // The key set of `past` with panels in `layout`. If the keys were packed in another layout, they
  // are packed again, and `again` owns the new panels.
  static attention_kernels::KeySet key_set(const AttentionPast& past, const at::Tensor& query,
                                           attention_kernels::PanelLayout layout,
                                           at::Tensor& again);
};

}  // namespace loci::kernels
