// SPDX-License-Identifier: Apache-2.0
// Tokenizer files and texts.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/model/text/text_clean.h"
#include "loci/model/text/tokenizer.h"
#include "loci/model/text/tokenizer_charsmap.h"
#include "loci/model/text/tokenizer_unigram.h"
#include "loci/model/text/utf8.h"

#include "fuzz/target.h"

namespace loci::fuzz {

namespace {

// Encodes a text and checks what holds for every tokenizer.
void check_encoding(const model::Tokenizer& tokenizer, std::string_view text) {
  const std::vector<int64_t> all = tokenizer.encode(text);
  for (const int64_t id : all) {
    LOCI_CHECK(id >= 0 && id < tokenizer.vocabulary(), "token {} of a vocabulary of {}", id,
               tokenizer.vocabulary());
  }
  constexpr int64_t kLimit = 8;
  const std::vector<int64_t> few = tokenizer.encode(text, kLimit);
  const size_t suffix = tokenizer.encode("").size();
  LOCI_CHECK(few.size() <= std::max<size_t>(kLimit, suffix), "{} tokens, more than the limit",
             few.size());
  LOCI_CHECK(all.size() > kLimit || few == all, "a short text was truncated");
}

// A file and a text, separated by a zero byte, which JSON does not contain.
void tokenize(std::string_view name, std::string_view bytes) {
  const size_t cut = std::min(bytes.rfind('\0'), bytes.size());
  const auto tokenizer = model::Tokenizer::load(scratch_file(name, bytes.substr(0, cut)));
  check_encoding(*tokenizer, cut < bytes.size() ? bytes.substr(cut + 1) : "a red hill é 1");
}

// Pieces of words, spaces and characters that tokenizers treat specially.
constexpr std::array<std::string_view, 32> kFragments = {
    "a",    "b",      "ab",   "ba",     "aab",  " ",        "  ",       "\u2581",
    "\u2581a", "é",  "e\u0301", "\u4e2d", "\xc3", "\xe2\x96", "\xf0\x9f\x98\x80", "\xff",
    "<s>",  "</s>",   "<0x41>", "<unk>", "\n", "\t",       "\u00a0",   "\u200b",
    "1",    ".",      "abab", "b\u2581", "\xef\xbf\xbd", "A", "\u0130", "\u3000"};

constexpr std::array<double, 8> kScores = {0, -1, -1.5, -2, -7, 3, -1e30, -1e308};

// Several fragments: their number, then one byte each.
std::string take_text(std::string_view& bytes, size_t most) {
  std::string text;
  for (size_t count = take_choice(bytes, most + 1); count > 0 && !bytes.empty(); --count) {
    text += kFragments[take_choice(bytes, kFragments.size())];
  }
  return text;
}

std::vector<model::Unigram::Piece> take_pieces(std::string_view& bytes) {
  std::vector<model::Unigram::Piece> pieces;
  for (size_t count = 1 + take_choice(bytes, 16); count > 0; --count) {
    const std::string text = take_text(bytes, 3);
    const double score = kScores[take_choice(bytes, kScores.size())];
    pieces.push_back({text, score, take_choice(bytes, 8) != 7});
  }
  return pieces;
}

// The best total score of a segmentation, computed from the end of the text by recursion over
// characters. `unknown_score` is the score of a character that is not a piece.
double best_score(const std::vector<model::Unigram::Piece>& pieces, std::string_view text,
                  double unknown_score) {
  std::vector<size_t> starts;
  for (size_t at = 0; at < text.size(); at += model::first_code_point(text.substr(at)).bytes) {
    starts.push_back(at);
  }
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  std::vector<double> best(text.size() + 1, kNever);
  best[text.size()] = 0;
  for (auto start = starts.rbegin(); start != starts.rend(); ++start) {
    const size_t character = model::first_code_point(text.substr(*start)).bytes;
    bool covered = false;
    for (size_t i = 0; i < pieces.size(); ++i) {
      // Of equal pieces, the first one counts.
      const auto same = [&](const auto& other) { return other.text == pieces[i].text; };
      const bool first = std::find_if(pieces.begin(), pieces.end(), same) - pieces.begin() ==
                         static_cast<ptrdiff_t>(i);
      const std::string& piece = pieces[i].text;
      if (!first || !pieces[i].matches || piece.empty() ||
          !text.substr(*start).starts_with(piece)) {
        continue;
      }
      best[*start] = std::max(best[*start], pieces[i].score + best[*start + piece.size()]);
      covered = covered || piece.size() == character;
    }
    if (!covered) {
      best[*start] = std::max(best[*start], unknown_score + best[*start + character]);
    }
  }
  return best[0];
}

}  // namespace

LOCI_FUZZ_TARGET(tokenizer_json) { tokenize("tokenizer.json", bytes); }
LOCI_FUZZ_TARGET(sentencepiece) { tokenize("spiece.model", bytes); }
LOCI_FUZZ_TARGET(tokenizer_config) { tokenize("tokenizer_config.json", bytes); }

LOCI_FUZZ_TARGET(prompt) { model::clean_prompt(bytes); }

LOCI_FUZZ_TARGET(charsmap) {
  const size_t cut = std::min(bytes.rfind('|'), bytes.size());
  const model::Charsmap map(bytes.substr(0, cut), "the map");
  const std::string_view text = cut < bytes.size() ? bytes.substr(cut + 1) : "";
  map.normalize_longest(text);
  map.normalize_graphemes(text);
}

// Unigram models in memory: the segmentation must have the best score.
LOCI_FUZZ_TARGET(unigram) {
  const std::vector<model::Unigram::Piece> pieces = take_pieces(bytes);
  const auto unknown = static_cast<int64_t>(take_choice(bytes, pieces.size()));
  const std::string text = take_text(bytes, 24);
  const model::Unigram unigram(pieces, unknown, /*byte_fallback=*/false, "the model");
  std::vector<int64_t> ids;
  unigram.tokenize(text, ids);
  std::string joined;
  double score = 0, least = std::numeric_limits<double>::infinity();
  bool known = true;
  for (const model::Unigram::Piece& piece : pieces) {
    if (piece.matches) least = std::min(least, piece.score);
  }
  for (const int64_t id : ids) {
    LOCI_CHECK(id >= 0 && id < unigram.size(), "token {} of {}", id, unigram.size());
    const model::Unigram::Piece& piece = pieces[static_cast<size_t>(id)];
    joined += piece.text;
    score += piece.score;
    known = known && id != unknown;
  }
  if (!known) return;
  LOCI_CHECK(joined == text, "the tokens do not give the text");
  const double best = best_score(pieces, text, least - 10);
  LOCI_CHECK(!(std::abs(best) < 1e20) || score >= best - 1e-9, "a score of {}; the best is {}",
             score, best);
}

// tokenizer.json that is always valid JSON with the keys of Unigram tokenizers.
LOCI_FUZZ_TARGET(tokenizer_parts) {
  Json vocabulary = Json::array();
  const auto text_of = [](std::string_view any) {
    return model::to_utf8(model::to_utf32(any));  // JSON texts are UTF-8
  };
  for (const model::Unigram::Piece& piece : take_pieces(bytes)) {
    vocabulary.push_back({text_of(piece.text), piece.score});
  }
  const size_t unknown = take_choice(bytes, vocabulary.size() + 1);
  Json json = {{"model", {{"type", "Unigram"}, {"unk_id", unknown}, {"vocab", vocabulary}}}};
  Json steps = Json::array();
  for (size_t count = take_choice(bytes, 4); count > 0; --count) {
    switch (take_choice(bytes, 4)) {
      case 0:
        steps.push_back({{"type", "Strip"},
                         {"strip_left", take_choice(bytes, 2) == 1},
                         {"strip_right", take_choice(bytes, 2) == 1}});
        break;
      case 1:
        steps.push_back({{"type", "Replace"},
                         {"pattern", {{"String", text_of(take_text(bytes, 2))}}},
                         {"content", text_of(take_text(bytes, 2))}});
        break;
      case 2:
        steps.push_back({{"type", "Replace"},
                         {"pattern", {{"Regex", " {2,}"}}},
                         {"content", text_of(take_text(bytes, 2))}});
        break;
      default:
        steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", ""}});
    }
  }
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
  Json splitters = Json::array();
  for (size_t count = take_choice(bytes, 4); count > 0; --count) {
    if (take_choice(bytes, 2) == 0) {
      splitters.push_back({{"type", "WhitespaceSplit"}});
      continue;
    }
    constexpr std::array<const char*, 3> kSchemes = {"always", "first", "never"};
    splitters.push_back({{"type", "Metaspace"},
                         {"replacement", text_of(take_text(bytes, 1))},
                         {"prepend_scheme", kSchemes[take_choice(bytes, kSchemes.size())]},
                         {"split", take_choice(bytes, 2) == 1}});
  }
  json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", splitters}};
  for (size_t count = take_choice(bytes, 3); count > 0; --count) {
    json["added_tokens"].push_back({{"content", text_of(take_text(bytes, 2))},
                                    {"id", vocabulary.size() + take_choice(bytes, 4)}});
  }
  if (take_choice(bytes, 2) == 1) {
    json["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {{{"Sequence", {{"id", "A"}}}}, {{"SpecialToken", {{"id", "</s>"}}}}}},
        {"special_tokens", {{"</s>", {{"ids", {take_choice(bytes, vocabulary.size())}}}}}}};
  }
  const std::string text = take_text(bytes, 40) + std::string(bytes.substr(0, 64));
  const auto tokenizer =
      model::Tokenizer::load(scratch_file("tokenizer.json", json.dump()));
  check_encoding(*tokenizer, text);
}

}  // namespace loci::fuzz
