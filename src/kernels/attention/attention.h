// SPDX-License-Identifier: Apache-2.0
// Softmax attention. Keys and values of past frames can be read from the slots of a KV store
// without copying them.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/kernels/elementwise/head_map.h"

namespace loci::kernels {

namespace attention_kernels {
enum class PanelLayout : int;
}

// Keys or values of whole frames in slots: [slots, B, T, H, D] in FP32 or BF16, or in INT8 with
// FP32 scales [slots, B, T, H, 1].
struct SlotTensor {
  at::Tensor data, scale;
};

// Keys and values of past frames that a chunk attends to in several passes. With a map of the keys
// (it may be empty), the constructor packs the mapped keys into the layout of the kernel. Without
// one, every call reads the keys from their slots, as it always does for values. Where no kernel
// applies (another device, FP64), the constructor gathers both.
class AttentionPast {
 public:
  AttentionPast() = default;
  // The frames are those of slots `index`, in that order; attention() uses them in `dtype` on
  // `device`. `map` holds tables for all tokens of these frames, in the same order. The contents
  // and storage of these slots must not change while this object is used.
  AttentionPast(SlotTensor key, SlotTensor value, std::vector<int64_t> index, at::ScalarType dtype,
                at::Device device, const std::optional<HeadMap>& map);

  bool empty() const { return index_.empty(); }
  int64_t tokens() const { return std::ssize(index_) * slot_tokens_; }
  // Memory in addition to the slots.
  int64_t bytes() const;

  // Mapped keys, and values, as tensors [B, tokens, H, D].
  at::Tensor keys() const;
  at::Tensor values() const;

 private:
  friend class PastReader;
  at::Tensor gathered(const SlotTensor& slots) const;
  // The mapped keys in panels of `dtype`.
  at::Tensor packed(attention_kernels::PanelLayout layout, at::ScalarType dtype) const;

  SlotTensor key_, value_;
  std::vector<int64_t> index_;
  int64_t slot_tokens_ = 0;
  at::ScalarType dtype_ = at::kFloat;
  at::Device device_ = at::kCPU;
  std::optional<HeadMap> map_;
  at::Tensor panels_;                         // packed keys, see pack_keys()
  at::Tensor gathered_key_, gathered_value_;  // if no kernel applies
};

// query [B, N, H, D], key and value [B, M, H, D] → [B, N, H, D] in the type of query. Every query
// attends to `past` and to all M keys. Scores are scaled by D^-1/2 and summed in FP32.
// Differentiable if there is no past.
at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionPast* past = nullptr);

// The same with libtorch's operators, for every type and device: the fallback of attention() and
// the reference of the tests.
at::Tensor attention_by_libtorch(const at::Tensor& query, const at::Tensor& key,
                                 const at::Tensor& value, const AttentionPast* past = nullptr);

}  // namespace loci::kernels
