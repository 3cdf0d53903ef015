// SPDX-License-Identifier: Apache-2.0
// The JSON header of a safetensors file, parsed strictly and checked against the size of the data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "loci/io/tensors/tensor_info.h"

namespace loci::io {

struct SafetensorsHeader {
  struct Entry {
    TensorInfo info;
    uint64_t begin = 0;  // byte offset from the start of the data
  };
  std::vector<Entry> entries;  // in the order of the data
  std::map<std::string, std::string> metadata;
};

// Bad input, naming `source`, unless the header is well-formed, lists every tensor once, and its
// tensors cover the `data_bytes` bytes of data exactly, without overlap or gap.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes,
                                           const std::string& source);

}  // namespace loci::io
