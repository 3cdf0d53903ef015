// SPDX-License-Identifier: Apache-2.0
// NumPy arrays: .npy (versions 1 to 3) and .npz (stored or deflated).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include <ATen/ATen.h>

namespace loci::io {

// Reads booleans, integers, floats of 16 to 64 bits and complex numbers, in either byte order and
// in C or Fortran order. The tensor is dense, row-major and owns its memory. Arrays of objects,
// text, records or dates and damaged files are bad input.
at::Tensor read_npy(const std::filesystem::path& path);

// The rows [first, first + count) of the first axis. Of an array in C order, no other rows are read.
// An array without these rows is bad input.
at::Tensor read_npy_rows(const std::filesystem::path& path, int64_t first, int64_t count);

// The same as read_npy from memory; `source` names the array in messages.
at::Tensor read_npy_bytes(std::string_view bytes, const std::string& source);

// All arrays of the archive by name, without ".npy". The inflated size of all deflated arrays is
// limited to 1 GiB plus 20 times the file size.
std::map<std::string, at::Tensor> read_npz(const std::filesystem::path& path);

// Writes version 1.0 like np.save. Types that NumPy lacks (bfloat16, float8) are bad input.
void write_npy(const std::filesystem::path& path, const at::Tensor& tensor);

// Writes uncompressed arrays like np.savez.
void write_npz(const std::filesystem::path& path, const std::map<std::string, at::Tensor>& arrays);

}  // namespace loci::io
