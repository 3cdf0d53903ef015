// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/gguf/gguf_types.h"

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace loci::io {

namespace {

using Byte = unsigned char;

constexpr uint32_t kSmall = 32;   // elements of a block with one scale
constexpr uint32_t kLarge = 256;  // elements of a block with a scale for each of its parts

float half_at(const Byte* bytes) {
  uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return static_cast<float>(c10::Half(bits, c10::Half::from_bits()));
}

uint32_t word_at(const Byte* bytes) {
  uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Types of 32 elements. Byte j of the 4-bit part holds element j in its low half and element j + 16
// in its high half.

void expand_q4_0(const Byte* block, float* to) {
  const float scale = half_at(block);
  const Byte* low = block + 2;
  for (int j = 0; j < 16; ++j) {
    to[j] = scale * static_cast<float>((low[j] & 15) - 8);
    to[j + 16] = scale * static_cast<float>((low[j] >> 4) - 8);
  }
}

void expand_q4_1(const Byte* block, float* to) {
  const float scale = half_at(block), offset = half_at(block + 2);
  const Byte* low = block + 4;
  for (int j = 0; j < 16; ++j) {
    to[j] = scale * static_cast<float>(low[j] & 15) + offset;
    to[j + 16] = scale * static_cast<float>(low[j] >> 4) + offset;
  }
}

// Element j of a 5-bit type: the fifth bit is bit j of `high`.
int five_bits(int low, uint32_t high, int j) { return low | static_cast<int>(high >> j & 1) << 4; }

void expand_q5_0(const Byte* block, float* to) {
  const float scale = half_at(block);
  const uint32_t high = word_at(block + 2);
  const Byte* low = block + 6;
  for (int j = 0; j < 16; ++j) {
    to[j] = scale * static_cast<float>(five_bits(low[j] & 15, high, j) - 16);
    to[j + 16] = scale * static_cast<float>(five_bits(low[j] >> 4, high, j + 16) - 16);
  }
}

void expand_q5_1(const Byte* block, float* to) {
  const float scale = half_at(block), offset = half_at(block + 2);
  const uint32_t high = word_at(block + 4);
  const Byte* low = block + 8;
  for (int j = 0; j < 16; ++j) {
    to[j] = scale * static_cast<float>(five_bits(low[j] & 15, high, j)) + offset;
    to[j + 16] = scale * static_cast<float>(five_bits(low[j] >> 4, high, j + 16)) + offset;
  }
}

void expand_q8_0(const Byte* block, float* to) {
  const float scale = half_at(block);
  for (int j = 0; j < 32; ++j) {
    to[j] = scale * static_cast<float>(static_cast<signed char>(block[2 + j]));
  }
}

// Types of 256 elements.

// Parts of 16 elements with a 4-bit scale and a 4-bit offset. 32 bytes hold the 2-bit parts of 128
// elements: bits 0 and 1 those of the first 32, bits 2 and 3 those of the next 32, and so on.
void expand_q2_k(const Byte* block, float* to) {
  const Byte* parts = block;
  const Byte* low = block + 16;
  const float scale = half_at(block + 80), offset = half_at(block + 82);
  for (int i = 0; i < 256; ++i) {
    const Byte part = parts[i / 16];
    const int bits = low[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    to[i] = scale * static_cast<float>(part & 15) * static_cast<float>(bits) -
            offset * static_cast<float>(part >> 4);
  }
}

// Parts of 16 elements with a 6-bit scale. The 2-bit parts are stored as in Q2_K. The third bit of
// element i is bit i / 32 of byte i % 32; if it is 0, 4 is subtracted.
void expand_q3_k(const Byte* block, float* to) {
  const Byte* high = block;
  const Byte* low = block + 32;
  const Byte* packed = block + 96;
  const float scale = half_at(block + 108);
  std::array<float, 16> scales{};
  for (size_t j = 0; j < 16; ++j) {
    const int four = j < 8 ? packed[j] & 15 : packed[j - 8] >> 4;
    const int two = packed[8 + j % 4] >> (j / 4 * 2) & 3;
    scales[j] = scale * static_cast<float>((four | two << 4) - 32);
  }
  for (int i = 0; i < 256; ++i) {
    const int bits = low[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    const int below = (high[i % 32] >> (i / 32) & 1) != 0 ? 0 : 4;
    to[i] = scales[static_cast<size_t>(i / 16)] * static_cast<float>(bits - below);
  }
}

// Scale and offset of part j of 8 in a Q4_K or Q5_K block, each of 6 bits, in 12 bytes: the parts 0
// to 3 have a byte each for scale and offset. The upper two bits of these bytes and the last four
// bytes belong to the parts 4 to 7.
std::pair<int, int> six_bit_pair(const Byte* packed, int j) {
  if (j < 4) return {packed[j] & 63, packed[j + 4] & 63};
  return {(packed[j + 4] & 15) | (packed[j - 4] >> 6 << 4),
          packed[j + 4] >> 4 | (packed[j] >> 6 << 4)};
}

// Parts of 32 elements. 32 bytes hold the 4-bit parts of 64 elements: the low halves those of the
// first 32. `high` (null: none) has a fifth bit per element: bit i / 32 of byte i % 32.
void expand_parts_of_32(const Byte* block, const Byte* high, const Byte* low, float* to) {
  const float scale = half_at(block), offset = half_at(block + 2);
  for (int j = 0; j < 8; ++j) {
    const auto [part_scale, part_offset] = six_bit_pair(block + 4, j);
    const float times = scale * static_cast<float>(part_scale);
    const float minus = offset * static_cast<float>(part_offset);
    const Byte* from = low + j / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      int bits = from[i] >> (j % 2 * 4) & 15;
      if (high != nullptr) bits |= (high[i] >> j & 1) << 4;
      to[32 * j + i] = times * static_cast<float>(bits) - minus;
    }
  }
}

void expand_q4_k(const Byte* block, float* to) {
  expand_parts_of_32(block, nullptr, block + 16, to);
}

void expand_q5_k(const Byte* block, float* to) {
  expand_parts_of_32(block, block + 16, block + 48, to);
}

// Parts of 16 elements with an 8-bit scale. 64 bytes hold the lower 4 bits of 128 elements: the low
// halves those of the first 64. 32 bytes hold the upper 2 bits of 128 elements as in Q2_K.
void expand_q6_k(const Byte* block, float* to) {
  const Byte* low = block;
  const Byte* high = block + 128;
  const Byte* parts = block + 192;
  const float scale = half_at(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int within = i % 128;
    const int four = low[i / 128 * 64 + within % 64] >> (within / 64 * 4) & 15;
    const int two = high[i / 128 * 32 + within % 32] >> (within / 32 * 2) & 3;
    to[i] = scale * static_cast<float>(static_cast<signed char>(parts[i / 16])) *
            static_cast<float>((four | two << 4) - 32);
  }
}

template <void (*kExpand)(const Byte*, float*), uint32_t kElements, uint32_t kBytes>
void expand_all(const char* blocks, size_t count, c10::BFloat16* to) {
  std::array<float, kElements> numbers{};
  for (size_t b = 0; b < count; ++b) {
    kExpand(reinterpret_cast<const Byte*>(blocks) + b * kBytes, numbers.data());
    for (size_t i = 0; i < kElements; ++i) to[b * kElements + i] = numbers[i];
  }
}

constexpr GgufType plain(uint32_t id, std::string_view name, at::ScalarType dtype, uint32_t bytes) {
  return {id, name, dtype, 1, bytes, nullptr};
}

template <void (*kExpand)(const Byte*, float*), uint32_t kElements, uint32_t kBytes>
constexpr GgufType quantized(uint32_t id, std::string_view name) {
  return {id, name, at::kBFloat16, kElements, kBytes, expand_all<kExpand, kElements, kBytes>};
}

constexpr std::array kGgufTypes = {plain(0, "F32", at::kFloat, 4),
                                   plain(1, "F16", at::kHalf, 2),
                                   plain(30, "BF16", at::kBFloat16, 2),
                                   quantized<expand_q8_0, kSmall, 34>(8, "Q8_0"),
                                   quantized<expand_q4_0, kSmall, 18>(2, "Q4_0"),
                                   quantized<expand_q4_1, kSmall, 20>(3, "Q4_1"),
                                   quantized<expand_q5_0, kSmall, 22>(6, "Q5_0"),
                                   quantized<expand_q5_1, kSmall, 24>(7, "Q5_1"),
                                   quantized<expand_q2_k, kLarge, 84>(10, "Q2_K"),
                                   quantized<expand_q3_k, kLarge, 110>(11, "Q3_K"),
                                   quantized<expand_q4_k, kLarge, 144>(12, "Q4_K"),
                                   quantized<expand_q5_k, kLarge, 176>(13, "Q5_K"),
                                   quantized<expand_q6_k, kLarge, 210>(14, "Q6_K"),
                                   plain(28, "F64", at::kDouble, 8),
                                   plain(24, "I8", at::kChar, 1),
                                   plain(25, "I16", at::kShort, 2),
                                   plain(26, "I32", at::kInt, 4),
                                   plain(27, "I64", at::kLong, 8)};

// Known types that are not supported, for messages.
constexpr std::array<std::pair<uint32_t, std::string_view>, 18> kOtherGgufTypes = {{{9, "Q8_1"},
                                                                                    {15, "Q8_K"},
                                                                                    {16, "IQ2_XXS"},
                                                                                    {17, "IQ2_XS"},
                                                                                    {18, "IQ3_XXS"},
                                                                                    {19, "IQ1_S"},
                                                                                    {20, "IQ4_NL"},
                                                                                    {21, "IQ3_S"},
                                                                                    {22, "IQ2_S"},
                                                                                    {23, "IQ4_XS"},
                                                                                    {29, "IQ1_M"},
                                                                                    {34, "TQ1_0"},
                                                                                    {35, "TQ2_0"},
                                                                                    {39, "MXFP4"},
                                                                                    {40, "NVFP4"},
                                                                                    {41, "Q1_0"},
                                                                                    {4, "Q4_2"},
                                                                                    {5, "Q4_3"}}};

}  // namespace

const GgufType* gguf_type(uint32_t id) {
  for (const GgufType& type : kGgufTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

std::string gguf_type_name(uint32_t id) {
  if (const GgufType* type = gguf_type(id)) return std::string(type->name);
  for (const auto& [other, name] : kOtherGgufTypes) {
    if (other == id) return std::string(name);
  }
  return fmt::format("type {}", id);
}

std::string gguf_type_names() {
  std::vector<std::string_view> names;
  for (const GgufType& type : kGgufTypes) names.push_back(type.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace loci::io
