// SPDX-License-Identifier: Apache-2.0
// Small string helpers: splitting, strict number parsing, human-readable quantities, suggestions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loci {

std::string_view trim(std::string_view text);

// ASCII letters in lower case; all else stays.
std::string lower(std::string_view text);

// Splits at every `separator`; "" gives one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);

// Splits at runs of white space, line breaks included; "" gives none.
std::vector<std::string_view> split_whitespace(std::string_view text);

// The whole of `text` as a number, or nothing. Independent of the locale; accepts nan and inf.
std::optional<double> parse_double(std::string_view text);
std::optional<int64_t> parse_int(std::string_view text);

// "512 B", "1.50 GiB".
std::string format_bytes(uint64_t bytes);
// "4,999,787,712"
std::string format_count(uint64_t count);
// "0.52 s", "3 min 20 s", "2 h 05 min".
std::string format_duration(double seconds);

// At most `columns` characters of UTF-8 text; a cut is marked by "…".
std::string shorten(std::string_view text, size_t columns);

// Control characters (line breaks, terminal escapes from a hostile file) become spaces.
std::string one_line(std::string_view text);

// The element of `known` closest to `word`, counting wrong, missing, extra and swapped letters;
// empty when nothing is near.
std::string_view nearest(std::string_view word, std::span<const std::string> known);

}  // namespace loci
