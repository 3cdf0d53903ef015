// SPDX-License-Identifier: Apache-2.0
// Softmax attention of tokens over keys and values, some of which may stand in the slots of a store
// and are read there.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/kernels/elementwise/head_map.h"

namespace loci::kernels {

// Numbers of whole frames in slots: [slots, B, T, H, D] FP32 or BF16, or INT8 with FP32 scales
// [slots, B, T, H, 1].
struct SlotTensor {
  at::Tensor data, scale;
};

// Keys and values of past frames that a chunk attends to, many times over. With a turn (one without
// rotations will do) keys are laid out for the kernel once; without, they are read in their slots
// whenever they are used, as values always are. Where the kernel does not apply (another device,
// FP64) both are gathered here.
class AttentionPast {
 public:
  AttentionPast() = default;
  // Slots `index`, one after the other, used in `dtype` on `device`. `turn` has the tables of all
  // their tokens in that order. Neither the slots' numbers nor their storage may change while this
  // is used; other slots may.
  AttentionPast(SlotTensor key, SlotTensor value, std::vector<int64_t> index, at::ScalarType dtype,
                at::Device device, const std::optional<HeadMap>& turn);

  bool empty() const { return index_.empty(); }
  int64_t tokens() const { return std::ssize(index_) * slot_tokens_; }
  // Bytes of what is kept beside the slots.
  int64_t bytes() const;

  // The same as plain tensors [B, tokens, H, D].
  at::Tensor keys() const;
  at::Tensor values() const;

 private:
  friend class PastReader;
  at::Tensor gathered(const SlotTensor& slots) const;

  SlotTensor key_, value_;
  std::vector<int64_t> index_;
  int64_t slot_tokens_ = 0;
  at::ScalarType dtype_ = at::kFloat;
  at::Device device_ = at::kCPU;
  std::optional<HeadMap> turn_;
  at::Tensor panels_;                         // keys laid out, see pack_keys()
  at::Tensor gathered_key_, gathered_value_;  // where the kernel does not apply
};

// query [B, N, H, D], key and value [B, M, H, D] → [B, N, H, D] in query's type: every query
// attends to `past` and all M keys, with scores scaled by D^-1/2 and sums in FP32. Differentiable
// without a past.
at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionPast* past = nullptr);

// The same by libtorch alone, for every type and device: what attention() falls back on, and what
// tests hold it to.
at::Tensor attention_by_libtorch(const at::Tensor& query, const at::Tensor& key,
                                 const at::Tensor& value, const AttentionPast* past = nullptr);

}  // namespace loci::kernels
