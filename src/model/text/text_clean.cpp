// SPDX-License-Identifier: Apache-2.0
#include "loci/model/text/text_clean.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "loci/model/text/utf8.h"

namespace loci::model {

namespace {

struct Entity {
  std::string_view name;
  char32_t value;
  bool bare;  // valid without the semicolon, too
};

constexpr Entity kEntities[] = {
#include "loci/model/text/text_entities.inc"
};

// Characters of Windows-1252 for bytes 0x80 to 0x9F; the five undefined bytes map to themselves.
constexpr std::array<char32_t, 32> kWindows1252 = {
    0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021, 0x2C6,  0x2030, 0x160,
    0x2039, 0x152,  0x8D,   0x17D,  0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};

constexpr std::pair<char32_t, std::u32string_view> kLigatures[] = {
    {0x132, U"IJ"},       {0x133, U"ij"},      {0x149, U"\u02BCn"}, {0x1C4, U"D\u017D"},
    {0x1C5, U"D\u017E"},  {0x1C6, U"d\u017E"}, {0x1C7, U"LJ"},      {0x1C8, U"Lj"},
    {0x1C9, U"lj"},       {0x1CA, U"NJ"},      {0x1CB, U"Nj"},      {0x1CC, U"nj"},
    {0x1F1, U"DZ"},       {0x1F2, U"Dz"},      {0x1F3, U"dz"},      {0xFB00, U"ff"},
    {0xFB01, U"fi"},      {0xFB02, U"fl"},     {0xFB03, U"ffi"},    {0xFB04, U"ffl"},
    {0xFB05, U"\u017Ft"}, {0xFB06, U"st"}};

// White space by both Python's str.isspace() and \s.
bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool is_control(char32_t c) {
  return c <= 0x08 || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F ||
         (c >= 0x206A && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFC);
}

// The byte that Windows-1252 (or Latin-1 where Windows-1252 is undefined) decodes to this
// character, or -1.
int windows_byte(char32_t c) {
  if (c < 0x100) return static_cast<int>(c);
  const auto found = std::find(kWindows1252.begin(), kWindows1252.end(), c);
  return found == kWindows1252.end() ? -1 : 0x80 + static_cast<int>(found - kWindows1252.begin());
}

// Whether these bytes, decoded as characters, are likely garbled UTF-8 rather than a word: accented
// Latin letters and signs (C2 to C5), punctuation and symbols (E2), emoji (F0 9F) and the byte
// order mark. Other lead bytes are letters that occur before such signs in ordinary text.
bool looks_garbled(const std::array<unsigned char, 4>& bytes, size_t length) {
  if (length == 2) return bytes[0] <= 0xC5;
  if (length == 3)
    return bytes[0] == 0xE2 || (bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF);
  return bytes[0] == 0xF0 && bytes[1] == 0x9F;
}

// In garbled text the letter "à" ends in a no-break space, which is often replaced by a plain
// space: "voilÃ  la". A single space then also ended the word. Portuguese words that begin with "à"
// stay in one piece.
std::u32string restore_a_grave(const std::u32string& text) {
  std::u32string out;
  for (size_t i = 0; i < text.size(); ++i) {
    out.push_back(text[i]);
    if (text[i] != 0xC3 || i + 1 >= text.size() || text[i + 1] != U' ') continue;
    const std::u32string_view rest = std::u32string_view(text).substr(i + 2);
    out.back() = 0xE0;
    const bool joined = rest.starts_with(U' ') || rest.starts_with(U"quele") ||
                        rest.starts_with(U"quela") || rest.starts_with(U"quilo") ||
                        rest.starts_with(U"s ");
    if (joined) ++i;
  }
  return out;
}

// One pass of repairs of UTF-8 that was decoded as Windows-1252.
std::u32string undo_windows_1252(const std::u32string& text) {
  std::u32string out;
  bool garbled = false;
  for (size_t i = 0; i < text.size();) {
    std::array<unsigned char, 4> bytes{};
    size_t length = 0;
    const int lead = windows_byte(text[i]);
    if (lead >= 0xC2 && lead <= 0xF4) length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (i + length > text.size()) length = 0;
    for (size_t j = 0; j < length; ++j) {
      const int byte = windows_byte(text[i + j]);
      if (byte < 0) length = 0;
      bytes[j] = static_cast<unsigned char>(std::max(byte, 0));
    }
    if (length > 0) {
      const CodePoint point =
          first_code_point(std::string_view(reinterpret_cast<const char*>(bytes.data()), length));
      if (point.valid && point.bytes == length && looks_garbled(bytes, length)) {
        out.push_back(point.value);
        i += length;
        garbled = true;
        continue;
      }
    }
    out.push_back(text[i++]);
  }
  return garbled ? restore_a_grave(out) : out;
}

// Terminal escapes for colours and cursor movement: ESC [ numbers letter.
size_t terminal_escape(std::u32string_view text) {
  if (text.size() < 3 || text[0] != 0x1B || text[1] != U'[') return 0;
  size_t i = 2;
  while (i < text.size() && ((text[i] >= U'0' && text[i] <= U'9') || text[i] == U';')) ++i;
  const bool letter = i < text.size() && ((text[i] >= U'a' && text[i] <= U'z') ||
                                          (text[i] >= U'A' && text[i] <= U'Z'));
  return letter ? i + 1 : 0;
}

std::u32string replace_characters(const std::u32string& text) {
  std::u32string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (const size_t length = terminal_escape(std::u32string_view(text).substr(i)); length > 0) {
      i += length - 1;
      continue;
    }
    char32_t c = text[i];
    if (c >= 0x80 && c <= 0x9F) c = kWindows1252[c - 0x80];
    const auto ligature = std::find_if(std::begin(kLigatures), std::end(kLigatures),
                                       [c](const auto& entry) { return entry.first == c; });
    if (ligature != std::end(kLigatures)) {
      out += ligature->second;
    } else if (c >= 0xFF01 && c <= 0xFF5E) {
      out.push_back(c - 0xFF01 + U'!');
    } else if (c == 0x2BC || (c >= 0x2018 && c <= 0x201B)) {
      out.push_back(U'\'');
    } else if (c >= 0x201C && c <= 0x201F) {
      out.push_back(U'"');
    } else if (c == 0x2028 || c == 0x2029) {
      out.push_back(U'\n');
    } else if (!is_control(c)) {
      out.push_back(c);
    }
  }
  return out;
}

// A numeric character reference by Python's rules. Returns its length in characters, or 0.
size_t numeric_reference(std::u32string_view text, std::u32string& out) {
  const bool hex = text.size() > 2 && (text[2] == U'x' || text[2] == U'X');
  size_t i = hex ? 3 : 2;
  const size_t digits = i;
  uint64_t value = 0;
  for (; i < text.size(); ++i) {
    const char32_t c = text[i];
    uint64_t digit;
    if (c >= U'0' && c <= U'9') {
      digit = c - U'0';
    } else if (hex && ((c >= U'a' && c <= U'f') || (c >= U'A' && c <= U'F'))) {
      digit = (c | 0x20) - U'a' + 10;
    } else {
      break;
    }
    value = std::min<uint64_t>(value * (hex ? 16 : 10) + digit, 0x110000);
  }
  if (i == digits) return 0;
  if (i < text.size() && text[i] == U';') ++i;
  const auto c = static_cast<char32_t>(value);
  if (c == 0 || (c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF) {
    out.push_back(0xFFFD);
  } else if (c >= 0x80 && c <= 0x9F) {
    out.push_back(kWindows1252[c - 0x80]);
  } else if (!(c < 0x20 && c != 0x09 && c != 0x0A && c != 0x0C && c != 0x0D) && c != 0x7F &&
             !(c >= 0xFDD0 && c <= 0xFDEF) && (c & 0xFFFE) != 0xFFFE) {
    out.push_back(c);
  }
  return i;
}

// A named character reference. Of names that are valid without a semicolon, the longest match.
size_t named_reference(std::u32string_view text, std::u32string& out) {
  const Entity* best = nullptr;
  size_t taken = 0;
  for (const Entity& entity : kEntities) {
    const size_t length = entity.name.size();
    if (text.size() < 1 + length ||
        !std::equal(entity.name.begin(), entity.name.end(), text.begin() + 1,
                    [](char a, char32_t b) { return static_cast<char32_t>(a) == b; })) {
      continue;
    }
    const bool ended = text.size() > 1 + length && text[1 + length] == U';';
    const size_t all = 1 + length + (ended ? 1 : 0);
    if ((ended || entity.bare) && all > taken) {
      best = &entity;
      taken = all;
    }
  }
  if (best != nullptr) out.push_back(best->value);
  return taken;
}

std::u32string unescape(const std::u32string& text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) {
    const std::u32string_view rest = std::u32string_view(text).substr(i);
    size_t length = 0;
    if (rest.size() > 2 && rest[0] == U'&') {
      length = rest[1] == U'#' ? numeric_reference(rest, out) : named_reference(rest, out);
    }
    if (length == 0) {
      out.push_back(text[i]);
      length = 1;
    }
    i += length;
  }
  return out;
}

}  // namespace

std::string unescape_html(std::string_view text) { return to_utf8(unescape(to_utf32(text))); }

std::string repair_text(std::string_view text) {
  std::u32string current = to_utf32(text);
  // A repair can reveal another: unescaping "&acirc;&euro;&trade;" gives garbled text.
  for (;;) {
    std::u32string next = current.find(U'<') == std::u32string::npos ? unescape(current) : current;
    next = replace_characters(undo_windows_1252(next));
    if (next == current) return to_utf8(current);
    current = std::move(next);
  }
}

std::string collapse_whitespace(std::string_view text) {
  std::u32string out;
  for (const char32_t c : to_utf32(text)) {
    if (!is_space(c)) {
      out.push_back(c);
    } else if (!out.empty() && out.back() != U' ') {
      out.push_back(U' ');
    }
  }
  if (!out.empty() && out.back() == U' ') out.pop_back();
  return to_utf8(out);
}

std::string clean_prompt(std::string_view text) {
  return collapse_whitespace(unescape_html(unescape_html(repair_text(text))));
}

}  // namespace loci::model
