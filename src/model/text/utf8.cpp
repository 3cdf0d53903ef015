// SPDX-License-Identifier: Apache-2.0
#include "loci/model/text/utf8.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace loci::model {

namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct Range {
  char32_t first, last;
};

// Unicode 14's general categories Mn, Mc and Me, and U+200C..U+200D; made by
// scripts/make_text_tables.py.
constexpr Range kCombining[] = {
#include "loci/model/text/utf8_combining.inc"
};

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (lead < 0xC2 || lead > 0xF4 || length > text.size()) return {kReplacement, 1, false};
  char32_t value = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {kReplacement, 1, false};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  if (value < kLeast[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
    return {kReplacement, 1, false};
  }
  return {value, length, true};
}

void append_utf8(std::string& text, char32_t value) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | value >> 6);
    put(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    put(0xE0 | value >> 12);
    put(0x80 | (value >> 6 & 0x3F));
    put(0x80 | (value & 0x3F));
  } else {
    put(0xF0 | value >> 18);
    put(0x80 | (value >> 12 & 0x3F));
    put(0x80 | (value >> 6 & 0x3F));
    put(0x80 | (value & 0x3F));
  }
}

std::u32string to_utf32(std::string_view text) {
  std::u32string wide;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    wide.push_back(point.value);
    text.remove_prefix(point.bytes);
  }
  return wide;
}

std::string to_utf8(std::u32string_view text) {
  std::string narrow;
  for (const char32_t value : text) append_utf8(narrow, value);
  return narrow;
}

bool is_combining(char32_t value) {
  const auto after =
      std::upper_bound(std::begin(kCombining), std::end(kCombining), value,
                       [](char32_t v, const Range& range) { return v < range.first; });
  return after != std::begin(kCombining) && value <= std::prev(after)->last;
}

}  // namespace loci::model
