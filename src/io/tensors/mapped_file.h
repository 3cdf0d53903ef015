// SPDX-License-Identifier: Apache-2.0
// Files as memory, and tensors made over such memory without copying.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include <ATen/ATen.h>

namespace loci::io {

// Bytes that stay valid as long as `owner` lives. The memory is private to this process: writing
// into a tensor made over it never reaches a file.
struct SharedBytes {
  std::string_view view;
  std::shared_ptr<const void> owner;

  size_t size() const { return view.size(); }
  // The caller has checked the range.
  SharedBytes part(size_t offset, size_t size) const { return {view.substr(offset, size), owner}; }
};

// Maps a regular file; pages are read when they are first touched and cost no memory of ours
// before. The file must not be truncated while the mapping lives. A missing or unreadable file is
// bad input.
SharedBytes map_file(const std::filesystem::path& path);

// For a tensor over a mapped file that will hardly be read again while something keeps the mapping:
// its pages no longer count as this process's memory. They stay in the system's cache of the file
// and are taken from there if need be, without what was written to them. Does nothing to other
// tensors.
void release_pages(const at::Tensor& tensor);

// Uninitialised memory, aligned for any element type and vector load.
std::shared_ptr<char[]> allocate_aligned(size_t size);

// A CPU tensor that shares `bytes` and keeps their owner alive. Bytes that are not aligned for
// `dtype` are copied. strides in elements; they and the offset 0 must stay within the bytes.
// `source` names the file and tensor if a BOOL tensor holds bytes other than 0 and 1 (bad input).
at::Tensor tensor_over(const SharedBytes& bytes, at::ScalarType dtype,
                       std::span<const int64_t> shape, std::span<const int64_t> strides,
                       std::string_view source);
// The same, dense in row-major order.
at::Tensor tensor_over(const SharedBytes& bytes, at::ScalarType dtype,
                       std::span<const int64_t> shape, std::string_view source);

}  // namespace loci::io
