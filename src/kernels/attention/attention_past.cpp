// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/kernels/attention/attention_dispatch.h"

namespace loci::kernels {

AttentionPast::AttentionPast(SlotTensor key, SlotTensor value, std::vector<int64_t> index,
                             at::ScalarType dtype, at::Device device,
                             const std::optional<HeadMap>& map)
    : key_(std::move(key)),
      value_(std::move(value)),
      index_(std::move(index)),
      slot_tokens_(key_.data.dim() == 5 ? key_.data.size(2) : 0),
      dtype_(dtype),
      device_(device),
      map_(map) {
  LOCI_CHECK(key_.data.dim() == 5 && key_.data.sizes() == value_.data.sizes(),
             "keys and values must have the same shape [slots, B, T, H, D]");
  for (const SlotTensor* slots : {&key_, &value_}) {
    LOCI_CHECK((slots->data.scalar_type() == at::kChar) == slots->scale.defined(),
               "slots of type {} {} scales: INT8 needs scales, other types must not have them",
               c10::toString(slots->data.scalar_type()),
               slots->scale.defined() ? "with" : "without");
  }
  for (const int64_t slot : index_) {
    LOCI_CHECK(slot >= 0 && slot < key_.data.size(0), "slot {} does not exist: there are {} slots",
               slot, key_.data.size(0));
  }
  if (index_.empty()) return;
  if (!kernel_applies(key_.data.device(), device_, dtype_, key_.data.size(4))) {
    gathered_key_ = keys();
    gathered_value_ = values();
  } else if (map_) {
    panels_ = packed(attend_kernel(dtype_).layout, dtype_);
  }
}

at::Tensor AttentionPast::packed(attention_kernels::PanelLayout layout,
                                 at::ScalarType dtype) const {
  if (map_->tiles == 0) return pack_keys(key_, index_, dtype, layout, &*map_);
  // The packing loops only rotate.
  const at::Tensor mapped = head_map(gathered(key_), *map_).contiguous();
  return pack_keys({mapped.unsqueeze(0), {}}, {0}, dtype, layout, nullptr);
}

int64_t AttentionPast::bytes() const {
  int64_t bytes = 0;
  for (const at::Tensor* tensor : {&panels_, &gathered_key_, &gathered_value_}) {
    if (tensor->defined()) bytes += static_cast<int64_t>(tensor->nbytes());
  }
  return bytes;
}

at::Tensor AttentionPast::gathered(const SlotTensor& slots) const {
  const at::Tensor index =
      at::tensor(index_, at::TensorOptions(slots.data.device()).dtype(at::kLong));
  at::Tensor chosen = slots.data.index_select(0, index);
  if (slots.scale.defined()) {
    chosen = chosen.to(at::kFloat).mul_(slots.scale.index_select(0, index));
  }
  return chosen.to(device_, dtype_).transpose(0, 1).flatten(1, 2);  // [B, n*T, H, D]
}

at::Tensor AttentionPast::keys() const {
  if (gathered_key_.defined()) return gathered_key_;
  const at::Tensor keys = gathered(key_);
  return map_ ? head_map(keys, *map_) : keys;
}

at::Tensor AttentionPast::values() const {
  return gathered_value_.defined() ? gathered_value_ : gathered(value_);
}

}  // namespace loci::kernels
