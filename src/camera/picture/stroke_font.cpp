// SPDX-License-Identifier: Apache-2.0
// A small font of straight strokes, so that drawing needs no font files.
#include <algorithm>
#include <array>

#include "loci/camera/picture/canvas.h"

namespace loci::camera {

namespace {

struct Glyph {
  char name;
  // Points of two digits, x and y, joined by lines; a space starts a new line. y = 2 is the
  // baseline, 6 the height of lower-case letters, 8 the height of capitals and digits.
  std::string_view strokes;
};

constexpr char kDegree = '\x01';

constexpr std::array kGlyphs = {
    Glyph{'0', "123243473818070312"},
    Glyph{'1', "072822 1232"},
    Glyph{'2', "07183847460242"},
    Glyph{'3', "07183847463525354443321203"},
    Glyph{'4', "32380444"},
    Glyph{'5', "480805354443321203"},
    Glyph{'6', "473818070312324344351504"},
    Glyph{'7', "084812"},
    Glyph{'8', "15060718384746351504031232434435"},
    Glyph{'9', "031232434738180706153546"},
    Glyph{'a', "3632 3526160503122233"},
    Glyph{'b', "0802 0516263533221203"},
    Glyph{'c', "3526160503122233"},
    Glyph{'d', "3832 3526160503122233"},
    Glyph{'e', "04343526160503122233"},
    Glyph{'f', "12172838 0626"},
    Glyph{'g', "3631201001 3526160503122233"},
    Glyph{'h', "0802 0516263532"},
    Glyph{'i', "1216 1818"},
    Glyph{'j', "26211000 2828"},
    Glyph{'k', "0802 3603 1432"},
    Glyph{'l', "181322"},
    Glyph{'m', "0602 05162522 25364542"},
    Glyph{'n', "0602 0516263532"},
    Glyph{'o', "162635332212030516"},
    Glyph{'p', "0600 0516263533221203"},
    Glyph{'q', "3630 3526160503122233"},
    Glyph{'r', "0602 051626"},
    Glyph{'s', "35261605142433221203"},
    Glyph{'t', "18132232 0626"},
    Glyph{'u', "0603122233 3632"},
    Glyph{'v', "062246"},
    Glyph{'w', "0612253246"},
    Glyph{'x', "0632 0236"},
    Glyph{'y', "0622 4610"},
    Glyph{'z', "06360232"},
    Glyph{'A', "022842 1434"},
    Glyph{'B', "02083847463505 3544433202"},
    Glyph{'C', "4738180703123243"},
    Glyph{'D', "02082846442202"},
    Glyph{'E', "48080242 0535"},
    Glyph{'F', "480802 0535"},
    Glyph{'G', "47381807031232434525"},
    Glyph{'H', "0208 4248 0545"},
    Glyph{'I', "1232 2228 1838"},
    Glyph{'J', "3833221203"},
    Glyph{'K', "0208 4804 1542"},
    Glyph{'L', "080242"},
    Glyph{'M', "0208254842"},
    Glyph{'N', "02084248"},
    Glyph{'O', "183847433212030718"},
    Glyph{'P', "02083847463505"},
    Glyph{'Q', "183847433212030718 2442"},
    Glyph{'R', "02083847463505 2542"},
    Glyph{'S', "473818070615354443321203"},
    Glyph{'T', "0848 2822"},
    Glyph{'U', "080312324348"},
    Glyph{'V', "082248"},
    Glyph{'W', "0812263248"},
    Glyph{'X', "0842 0248"},
    Glyph{'Y', "082548 2522"},
    Glyph{'Z', "08480242"},
    Glyph{'.', "0202"},
    Glyph{',', "1201"},
    Glyph{':', "0303 0606"},
    Glyph{'-', "0434"},
    Glyph{'_', "0141"},
    Glyph{'/', "0148"},
    Glyph{'(', "18060412"},
    Glyph{')', "08161402"},
    Glyph{'+', "0343 2125"},
    Glyph{'=', "0545 0343"},
    Glyph{kDegree, "0708181707"},
};

constexpr double kGap = 1.7;    // between glyphs, in units
constexpr double kBlank = 2.2;  // of a space
constexpr std::string_view kUnknown = "0208383202";

std::string_view strokes_of(char name) {
  const auto glyph = std::find_if(kGlyphs.begin(), kGlyphs.end(),
                                  [name](const Glyph& g) { return g.name == name; });
  return glyph == kGlyphs.end() ? kUnknown : glyph->strokes;
}

// UTF-8 to glyph names. The degree sign has a glyph; other characters beyond ASCII become boxes.
std::string glyph_names(std::string_view words) {
  std::string names;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto byte = static_cast<unsigned char>(words[i]);
    if (byte < 0x80) {
      names += words[i];
    } else if (words.substr(i).starts_with("\xC2\xB0")) {
      names += kDegree;
    } else if (byte >= 0xC0) {
      names += '\x02';
    }
  }
  return names;
}

}  // namespace

StrokedText stroke_text(std::string_view words, double size) {
  const double unit = size / 9;
  StrokedText text;
  for (const char name : glyph_names(words)) {
    if (name == ' ') {
      text.width += kBlank * unit;
      continue;
    }
    double right = 0;
    text.lines.emplace_back();
    const std::string_view strokes = strokes_of(name);
    for (size_t i = 0; i < strokes.size();) {
      if (strokes[i] == ' ') {
        text.lines.emplace_back();
        ++i;
        continue;
      }
      const double x = strokes[i] - '0', y = strokes[i + 1] - '0';
      right = std::max(right, x);
      text.lines.back().push_back({text.width + x * unit, (2 - y) * unit});
      i += 2;
    }
    text.width += (right + kGap) * unit;
  }
  return text;
}

}  // namespace loci::camera
