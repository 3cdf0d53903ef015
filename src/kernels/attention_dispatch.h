// SPDX-License-Identifier: Apache-2.0
// What attention() and AttentionPast share: where the kernel applies, and how tensors become its
// work.
#pragma once

#include "loci/kernels/attention.h"
#include "loci/kernels/attention_kernel.h"

namespace loci::kernels {

// Whether numbers kept on `stored` and used on `device` in `dtype` are the kernel's.
bool kernel_applies(at::Device stored, at::Device device, at::ScalarType dtype, int64_t channels);

// The loops of the level in use.
void attend(const attention_kernels::Work& work);

attention_kernels::Number number_type(at::ScalarType dtype);
attention_kernels::SlotRows slot_rows(const SlotTensor& slots);

// Keys in panels [B, H, panels, D, kPanel] of `dtype`, FP32 or BF16; `turn` may be null.
at::Tensor pack_keys(const SlotTensor& key, const std::vector<int64_t>& index, at::ScalarType dtype,
                     const HeadMap* turn);

// Reads what a past keeps.
class PastReader {
 public:
  static attention_kernels::KeySet key_set(const AttentionPast& past, const at::Tensor& query);
};

}  // namespace loci::kernels
