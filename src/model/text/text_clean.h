// SPDX-License-Identifier: Apache-2.0
// Cleans a prompt as Wan does before tokenizing it.
#pragma once

#include <string>
#include <string_view>

namespace loci::model {

// Wan repairs text with Python's ftfy, resolves HTML entities twice and replaces every run of white
// space by one space. These repairs of ftfy are implemented: HTML entities (in text without '<'),
// UTF-8 that was decoded as Windows-1252 or Latin-1 (accented Latin letters, punctuation, symbols,
// emoji; also repeatedly), Windows-1252 control characters, Latin ligatures, full-width ASCII,
// curly quotes, terminal escapes, control characters, bytes that are not UTF-8.
//
// Not implemented: text garbled through other encodings (Cyrillic, Greek, Mac), garbled text with
// lost bytes, half-width Katakana and Hangul, and Unicode NFC. The tokenizer's normalisation covers
// the last two. Entities are numeric references and the names of HTML 4, not the further 2,000
// names of HTML 5.
std::string clean_prompt(std::string_view text);

// The steps of clean_prompt().
std::string repair_text(std::string_view text);    // ftfy's repairs
std::string unescape_html(std::string_view text);  // one pass, like Python's html.unescape
std::string collapse_whitespace(std::string_view text);

}  // namespace loci::model
