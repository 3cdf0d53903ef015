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
  uint64_t offset = 0;  // where the numbers begin
};

// Reads the header at the start of `file`. Throws bad input, naming `source`, for anything numpy
// would not write, for types that are no numbers, and when `file` is too short for the numbers.
NpyHeader parse_npy_header(std::string_view file, const std::string& source);

// The header of a dense little-endian array, in version 1.0. A type numpy lacks is bad input that
// names `source`.
std::string make_npy_header(const at::Tensor& tensor, const std::string& source);

}  // namespace loci::io
