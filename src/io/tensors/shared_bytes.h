// SPDX-License-Identifier: Apache-2.0
// Bytes with shared ownership, and tensors that share their memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <ATen/ATen.h>

namespace loci::io {

// Bytes in memory of this process that are valid while `owner` exists.
struct SharedBytes {
  std::string_view view;
  std::shared_ptr<const void> owner;

  size_t size() const { return view.size(); }
  // The caller must check the range.
  SharedBytes part(size_t offset, size_t size) const { return {view.substr(offset, size), owner}; }
};

// Uninitialized memory, aligned for all element types and vector loads.
std::shared_ptr<char[]> allocate_aligned(size_t size);

// A CPU tensor that shares `bytes` and keeps their owner alive. Bytes that are not aligned for
// `dtype` are copied. `strides` are in elements; all elements must be within the bytes. Bytes of a
// BOOL tensor other than 0 and 1 are bad input; `source` names file and tensor in the message.
at::Tensor tensor_over(const SharedBytes& bytes, at::ScalarType dtype,
                       std::span<const int64_t> shape, std::span<const int64_t> strides,
                       std::string_view source);
// The same for a dense tensor in row-major order.
at::Tensor tensor_over(const SharedBytes& bytes, at::ScalarType dtype,
                       std::span<const int64_t> shape, std::string_view source);

}  // namespace loci::io
