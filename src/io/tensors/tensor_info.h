// SPDX-License-Identifier: Apache-2.0
// What a file says about a tensor before its numbers are looked at.
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
};

// Element types by their names in safetensors files: "F32", "BF16", "F8_E4M3", "BOOL", …
// A type without such a name gives "" or nothing.
std::string_view dtype_name(at::ScalarType dtype);
std::optional<at::ScalarType> dtype_from_name(std::string_view name);

// The bytes a dense tensor takes, or nothing if `shape` is none that a tensor can have: a negative
// extent, more than 64 dimensions, or a product beyond 2^63 - 1 (extents of 0 counted as 1, since
// strides are computed that way).
std::optional<uint64_t> tensor_bytes(at::ScalarType dtype, std::span<const int64_t> shape);

// Throws bad input: `source` has no tensor `name`, with the nearest name among `known`.
[[noreturn]] void fail_missing_tensor(const std::string& source, std::string_view name,
                                      std::span<const TensorInfo> known);

// Text from a file as it may stand in a message: one line of ASCII, with escapes for
// everything else, not long.
std::string printable(std::string_view text);

}  // namespace loci::io
