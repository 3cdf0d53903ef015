// SPDX-License-Identifier: Apache-2.0
#include "loci/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace loci {

namespace {

constexpr std::string_view kBlanks = " \t\r\n\f\v";

// The number of letters to replace, insert, delete or swap with a neighbour to turn `a` into `b`.
size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows i - 2, i - 1 and i of the table of distances between prefixes.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last.back();
}

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> split_whitespace(std::string_view text) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return pieces;
    text.remove_prefix(first);
    const size_t length = std::min(text.find_first_of(kBlanks), text.size());
    pieces.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
}

std::optional<double> parse_double(std::string_view text) { return parse_number<double>(text); }
std::optional<int64_t> parse_int(std::string_view text) { return parse_number<int64_t>(text); }

std::string format_bytes(uint64_t bytes) {
  static constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, kUnits[unit]);
}

std::string format_count(uint64_t count) {
  std::string digits = std::to_string(count);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits;
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 9.995) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string shorten(std::string_view text, size_t columns) {
  const auto length =
      static_cast<size_t>(std::count_if(text.begin(), text.end(), starts_character));
  if (length <= columns) return std::string(text);
  if (columns == 0) return "";
  size_t end = 0;
  for (size_t kept = 0; end < text.size(); ++end) {
    if (starts_character(text[end]) && kept++ == columns - 1) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; },
      ' ');
  return line;
}

std::string_view nearest(std::string_view word, std::span<const std::string> known) {
  std::string_view best;
  // A word with more than a third of its letters wrong is not a misspelling.
  size_t best_distance = (word.size() + 1) / 3 + 1;
  for (const std::string& candidate : known) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < word.size()) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace loci
