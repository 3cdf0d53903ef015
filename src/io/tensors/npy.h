// SPDX-License-Identifier: Apache-2.0
// Arrays of numpy: .npy (versions 1 to 3) and .npz (stored or deflated).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include <ATen/ATen.h>

namespace loci::io {

// Booleans, integers, half, single and double floats and complex numbers, of either byte order and
// in C or Fortran order; the tensor is dense, row-major, and owns its memory. Arrays of objects,
// text, records or dates are bad input, as is anything damaged.
at::Tensor read_npy(const std::filesystem::path& path);

// The same from memory; `source` names it in messages.
at::Tensor read_npy_bytes(std::string_view bytes, const std::string& source);

// Every array of the archive by its name without ".npy". Deflated arrays may together take at most
// 1 GiB plus 20 times the file's size.
std::map<std::string, at::Tensor> read_npz(const std::filesystem::path& path);

// Version 1.0 as np.save writes it. Types numpy lacks (bfloat16, float8) are bad input.
void write_npy(const std::filesystem::path& path, const at::Tensor& tensor);

// As np.savez writes it, uncompressed.
void write_npz(const std::filesystem::path& path, const std::map<std::string, at::Tensor>& arrays);

}  // namespace loci::io
