// SPDX-License-Identifier: Apache-2.0
// UTF-8 to code points and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace loci::model {

struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;   // it takes in the text
  bool valid = true;  // false: the byte belongs to no character; value is U+FFFD, bytes is 1
};

// The character at the start of a text that is not empty. Overlong forms, surrogates and cut-off
// sequences are not valid.
CodePoint first_code_point(std::string_view text);

void append_utf8(std::string& text, char32_t value);

std::u32string to_utf32(std::string_view text);
std::string to_utf8(std::u32string_view text);

// Whether the character joins the one before it to one visible unit: combining marks, variation
// selectors, the zero-width (non-)joiner.
bool is_combining(char32_t value);

}  // namespace loci::model
