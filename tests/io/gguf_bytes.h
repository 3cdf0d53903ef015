// SPDX-License-Identifier: Apache-2.0
// Writes GGUF files for tests.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/ATen.h>

#include "loci/io/tensors/safetensors.h"

namespace loci::testing {

// A GGUF file with FP32 tensors. Shapes are written innermost extent first.
inline std::string gguf_bytes(const io::NamedTensors& tensors) {
  std::string header = "GGUF", data;
  const auto number = [&](auto value) {
    header.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const auto align = [](std::string& text) { text.resize((text.size() + 31) / 32 * 32); };
  number(uint32_t{3});
  number(static_cast<uint64_t>(tensors.size()));
  number(uint64_t{0});
  for (const auto& [name, tensor] : tensors) {
    number(static_cast<uint64_t>(name.size()));
    header += name;
    number(static_cast<uint32_t>(tensor.dim()));
    for (int64_t i = tensor.dim(); i-- > 0;) number(tensor.size(i));
    number(uint32_t{0});
    align(data);
    number(static_cast<uint64_t>(data.size()));
    const at::Tensor dense = tensor.contiguous();
    data.append(static_cast<const char*>(dense.const_data_ptr()), dense.nbytes());
  }
  align(header);
  return header + data;
}

}  // namespace loci::testing
