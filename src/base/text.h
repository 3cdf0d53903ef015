// SPDX-License-Identifier: Apache-2.0
// String functions: splitting, strict number parsing, readable quantities, spelling suggestions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loci {

std::string_view trim(std::string_view text);

// Converts ASCII letters to lower case.
std::string lower(std::string_view text);

// Splits at every `separator`; "" yields one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);

// Splits at white space including line breaks; "" yields no pieces.
std::vector<std::string_view> split_whitespace(std::string_view text);

// All of `text` as a number, else nullopt. Independent of the locale; accepts nan and inf.
std::optional<double> parse_double(std::string_view text);
std::optional<int64_t> parse_int(std::string_view text);

// "512 B", "1.50 GiB".
std::string format_bytes(uint64_t bytes);
// "4,999,787,712"
std::string format_count(uint64_t count);
// "0.52 s", "3 min 20 s", "2 h 05 min".
std::string format_duration(double seconds);

// Truncates UTF-8 text to `columns` characters; a truncated text ends with "…".
std::string shorten(std::string_view text, size_t columns);

// Replaces control characters, such as line breaks and terminal escapes, by spaces.
std::string one_line(std::string_view text);

// The element of `known` with the smallest edit distance to `word` (wrong, missing, extra and
// swapped letters); empty if none is similar.
std::string_view nearest(std::string_view word, std::span<const std::string> known);

}  // namespace loci
