// SPDX-License-Identifier: Apache-2.0
#include "loci/model/text/tokenizer_charsmap.h"

#include <cstring>

#include "loci/base/error.h"
#include "loci/model/text/utf8.h"

namespace loci::model {

namespace {

// A unit of the trie in the format of the darts-clone library.
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t leaf_value(uint32_t unit) { return unit & 0x7FFFFFFFu; }
uint32_t label(uint32_t unit) { return unit & 0x800000FFu; }
uint32_t offset(uint32_t unit) { return unit >> 10 << ((unit & 0x200u) >> 6); }

uint32_t read_u32(const char* from) {
  unsigned char bytes[4];
  std::memcpy(bytes, from, 4);
  return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

}  // namespace

Charsmap::Charsmap(std::string_view data, const std::string& source) {
  if (data.empty()) return;
  const uint64_t trie_bytes = data.size() >= 4 ? read_u32(data.data()) : 0;
  if (data.size() < 8 || trie_bytes % 4 != 0 || trie_bytes == 0 || trie_bytes > data.size() - 4) {
    fail("{}: the precompiled character map is damaged", source);
  }
  for (uint64_t at = 0; at < trie_bytes; at += 4) units_.push_back(read_u32(data.data() + 4 + at));
  forms_ = data.substr(4 + trie_bytes);
  if (forms_.empty() || forms_.back() != '\0') forms_.push_back('\0');
}

std::optional<Charsmap::Match> Charsmap::find(std::string_view text, bool longest) const {
  std::optional<Match> match;
  if (units_.empty()) return match;
  size_t node = offset(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    const size_t form = node < units_.size() ? leaf_value(units_[node]) : forms_.size();
    if (form >= forms_.size()) break;
    match = Match{i + 1, std::string_view(forms_.data() + form)};
    if (!longest) break;
  }
  return match;
}

std::string Charsmap::normalize_longest(std::string_view text) const {
  std::string out;
  while (!text.empty()) {
    if (const std::optional<Match> match = find(text, /*longest=*/true)) {
      out += match->form;
      text.remove_prefix(match->bytes);
      continue;
    }
    const CodePoint point = first_code_point(text);
    append_utf8(out, point.value);
    text.remove_prefix(point.bytes);
  }
  return out;
}

std::string Charsmap::normalize_graphemes(std::string_view text) const {
  constexpr size_t kLongestUnit = 6;
  std::string out;
  while (!text.empty()) {
    size_t length = first_code_point(text).bytes;
    if (text.starts_with("\r\n")) length = 2;
    // Control characters are separate graphemes.
    const bool joins = static_cast<unsigned char>(text[0]) >= 0x20 && text[0] != 0x7F;
    while (joins && length < text.size()) {
      const CodePoint next = first_code_point(text.substr(length));
      if (!is_combining(next.value)) break;
      length += next.bytes;
    }
    std::string_view unit = text.substr(0, length);
    text.remove_prefix(length);
    if (unit.size() < kLongestUnit) {
      if (const std::optional<Match> match = find(unit, /*longest=*/false)) {
        out += match->form;
        continue;
      }
    }
    while (!unit.empty()) {
      const CodePoint point = first_code_point(unit);
      const std::optional<Match> match = find(unit.substr(0, point.bytes), /*longest=*/false);
      if (match) {
        out += match->form;
      } else {
        append_utf8(out, point.value);
      }
      unit.remove_prefix(point.bytes);
    }
  }
  return out;
}

}  // namespace loci::model
