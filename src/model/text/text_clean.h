// SPDX-License-Identifier: Apache-2.0
// What Wan does to a prompt before tokenizing it.
#pragma once

#include <string>
#include <string_view>

namespace loci::model {

// Wan repairs text with Python's ftfy, resolves HTML entities twice and makes every run of white
// space one space. Covered of ftfy's repairs: HTML entities (in text without '<'), UTF-8 that was
// read as Windows-1252 or Latin-1 (accented Latin letters, punctuation, symbols, emoji; repeatedly
// if need be), Windows-1252 control characters, Latin ligatures, full-width ASCII, curly quotes,
// terminal escapes, control characters, bytes that are not UTF-8.
//
// Not covered: text garbled through other encodings (Cyrillic, Greek, Mac), garbled text with lost
// bytes, half-width Katakana and Hangul, and Unicode's NFC; the last two are part of the
// tokenizer's own normalisation. Entities are those of HTML 4 and numbers, not HTML 5's further
// 2,000 names.
std::string clean_prompt(std::string_view text);

// The parts, for tests.
std::string repair_text(std::string_view text);    // ftfy's repairs
std::string unescape_html(std::string_view text);  // once, like Python's html.unescape
std::string collapse_whitespace(std::string_view text);

}  // namespace loci::model
