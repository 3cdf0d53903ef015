// SPDX-License-Identifier: Apache-2.0
// Types of tensors in GGUF files, and the conversion of quantized blocks to BF16.
//
// A quantized type stores blocks of 32 or 256 consecutive elements. An element is an integer of 2
// to 8 bits times a scale of its block or of a part of its block; some types add an offset. Scales
// and offsets are computed in FP32, in the order of operations of the package `gguf`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ATen/ATen.h>

namespace loci::io {

struct GgufType {
  uint32_t id = 0;
  std::string_view name;
  at::ScalarType dtype = at::kFloat;  // in memory; quantized types become BF16
  uint32_t elements = 1;              // per block; 1: not quantized
  uint32_t bytes = 4;                 // per block
  // Converts `count` blocks; `to` receives count * elements numbers. Null for types that are not
  // quantized.
  void (*expand)(const char* blocks, size_t count, c10::BFloat16* to) = nullptr;
};

// Null for a type that is not supported.
const GgufType* gguf_type(uint32_t id);

// The name of a type for messages: "IQ2_XXS", or "type 99" for an unknown one.
std::string gguf_type_name(uint32_t id);
// The names of the supported types, separated by commas.
std::string gguf_type_names();

}  // namespace loci::io
