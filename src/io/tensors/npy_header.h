// SPDX-License-Identifier: Apache-2.0
// The header of a .npy array: a Python dictionary with descr, fortran_order and shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>

namespace loci::io {

struct NpyHeader {
  at::ScalarType dtype = at::kFloat;
  bool swapped = false;  // big-endian
  bool fortran_order = false;
  std::vector<int64_t> shape;
  uint64_t offset = 0;  // of the data in the file
};

// Number of bytes at the start of a file that contain every valid header.
inline constexpr uint64_t kNpyHead = (1 << 16) + 12;

// Reads the header at the start of a file of `size` bytes. `head` is the file or its first kNpyHead
// bytes. Bad input, naming `source`, if NumPy would not write such a header, if the elements are
// not numbers, or if the size does not match.
NpyHeader parse_npy_header(std::string_view head, uint64_t size, const std::string& source);

// The header of a dense little-endian array in version 1.0. A type that NumPy lacks is bad input;
// `source` names the array in the message.
std::string make_npy_header(const at::Tensor& tensor, const std::string& source);

}  // namespace loci::io
