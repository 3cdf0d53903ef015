// SPDX-License-Identifier: Apache-2.0
// The properties of a tensor in a file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>

namespace loci::io {

struct TensorInfo {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;  // elements times element size
  // For a tensor that is quantized in its file and has `dtype` in memory: the name of its type in
  // the file, such as "Q4_K", and its size there.
  std::string_view packed_type = {};
  uint64_t packed_bytes = 0;

  // Type and size in the file.
  std::string_view file_type() const;
  uint64_t file_bytes() const { return packed_type.empty() ? bytes : packed_bytes; }
};

// Element types by their names in safetensors files: "F32", "BF16", "F8_E4M3", "BOOL", …
// A type without such a name yields "" or nullopt.
std::string_view dtype_name(at::ScalarType dtype);
std::optional<at::ScalarType> dtype_from_name(std::string_view name);

// The size of a dense tensor in bytes. nullopt if `shape` is invalid: a negative extent, more than
// 64 dimensions, or a product above 2^63 - 1. Extents of 0 count as 1 in the product, since strides
// are computed that way.
std::optional<uint64_t> tensor_bytes(at::ScalarType dtype, std::span<const int64_t> shape);

// Throws a bad-input error: `source` has no tensor `name`. Suggests the nearest name in `known`.
[[noreturn]] void fail_missing_tensor(const std::string& source, std::string_view name,
                                      std::span<const TensorInfo> known);

// Text from a file for use in a message: one short line of ASCII, with escapes for all other
// characters.
std::string printable(std::string_view text);

}  // namespace loci::io
