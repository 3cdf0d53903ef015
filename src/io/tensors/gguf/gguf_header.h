// SPDX-License-Identifier: Apache-2.0
// The header of a GGUF file: metadata and the table of tensors, checked against the size of the
// file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "loci/io/tensors/gguf/gguf_types.h"
#include "loci/io/tensors/input_file.h"
#include "loci/io/tensors/tensor_info.h"

namespace loci::io {

struct GgufHeader {
  struct Entry {
    TensorInfo info;
    const GgufType* type = nullptr;
    uint64_t begin = 0;  // byte offset in the file
  };
  std::vector<Entry> entries;  // in the order of the table
  // Strings, numbers and truth values as text. Lists are skipped.
  std::map<std::string, std::string> metadata;
};

// Bad input unless the file is a little-endian GGUF file of version 2 or 3 with supported types,
// and the data of all tensors are within the file and do not overlap. Memory is allocated only for
// what the file contains.
//
// Shapes are row-major, outermost dimension first, the reverse of the file's order. The list
// "comfy.gguf.orig_shape.<name>" replaces the shape of a tensor; ComfyUI's converter writes it for
// tensors that it stores with other rows.
GgufHeader read_gguf_header(const InputFile& file);

}  // namespace loci::io
