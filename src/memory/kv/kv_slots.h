// SPDX-License-Identifier: Apache-2.0
// The keys or the values of one layer and branch, in slots of one frame each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/kernels/attention/attention.h"

namespace loci::memory {

// Storage format.
enum class KvFormat {
  kPlain,  // the type of use
  kBf16,
  kInt8,  // 8 bits, with one FP32 scale per token and head
};
KvFormat parse_kv_format(const std::string& name);  // "plain", "bf16", "int8"
const std::vector<std::string>& kv_format_names();

class KvSlots {
 public:
  KvSlots() = default;
  // `frame` is the shape [B, T, H, D] of a frame; `dtype` the type of use.
  KvSlots(std::vector<int64_t> frame, at::ScalarType dtype, KvFormat format, at::Device device);
  // An independent copy.
  KvSlots clone() const;

  // Bytes of one slot of this shape.
  static int64_t slot_bytes(const std::vector<int64_t>& frame, at::ScalarType dtype,
                            KvFormat format);

  bool defined() const { return data_.defined(); }
  void grow(int64_t slots);

  void put(int64_t slot, const at::Tensor& frame);
  // All slots in their storage format.
  kernels::SlotTensor tensor() const { return {data_, scale_}; }

  // The slots `index` in their storage format, for a file; restore() puts them into slots 0, 1, ….
  // `scale` is undefined unless the format is kInt8.
  struct Raw {
    at::Tensor data, scale;
  };
  Raw save(const at::Tensor& index) const;
  void restore(const Raw& raw);

 private:
  std::vector<int64_t> frame_;
  at::ScalarType dtype_ = at::kFloat;
  KvFormat format_ = KvFormat::kPlain;
  at::Tensor data_;   // [slots, B, T, H, D]
  at::Tensor scale_;  // [slots, B, T, H, 1] FP32, kInt8 only
};

}  // namespace loci::memory
