// SPDX-License-Identifier: Apache-2.0
// Memory-mapped files, and tensors that share their memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include <ATen/ATen.h>

namespace loci::io {

// Bytes that are valid while `owner` exists. The memory is private to this process: writing to a
// tensor that shares it does not change the file.
struct SharedBytes {
  std::string_view view;
  std::shared_ptr<const void> owner;

  size_t size() const { return view.size(); }
  // The caller must check the range.
  SharedBytes part(size_t offset, size_t size) const { return {view.substr(offset, size), owner}; }
};

// Maps a regular file. Pages are read on first access and use no memory before that.
// The file must not be truncated while the mapping exists.
// A missing or unreadable file is bad input.
SharedBytes map_file(const std::filesystem::path& path);

// Releases the pages of a tensor that shares a mapped file, for tensors that are not needed soon.
// The pages no longer count as memory of this process. The next access reads them again from the
// page cache or the file; modifications are lost.
// Has no effect on other tensors.
void release_pages(const at::Tensor& tensor);

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
