// SPDX-License-Identifier: Apache-2.0
// Converts between UTF-8 and code points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace loci::model {

struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;   // length in the text
  bool valid = true;  // false: an invalid byte; value is U+FFFD, bytes is 1
};

// The first character of a non-empty text. Overlong forms, surrogates and truncated sequences are
// invalid.
CodePoint first_code_point(std::string_view text);

// Whether all characters are valid.
bool is_utf8(std::string_view text);

void append_utf8(std::string& text, char32_t value);

std::u32string to_utf32(std::string_view text);
std::string to_utf8(std::u32string_view text);

// Whether the character forms one grapheme with the previous one: combining marks, variation
// selectors, the zero-width (non-)joiner.
bool is_combining(char32_t value);

}  // namespace loci::model
