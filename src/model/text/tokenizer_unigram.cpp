// SPDX-License-Identifier: Apache-2.0
#include "loci/model/text/tokenizer_unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "loci/base/error.h"
#include "loci/model/text/utf8.h"

namespace loci::model {

namespace {

// The score of an unknown character, relative to the lowest score of a piece.
constexpr double kUnknownPenalty = 10;
// Larger scores could sum to infinity; then no segmentation would be the best one.
constexpr double kMostScore = 1e30;

}  // namespace

Unigram::Unigram(std::vector<Piece> pieces, int64_t unknown, bool byte_fallback,
                 const std::string& source)
    : pieces_(std::move(pieces)), unknown_(unknown) {
  if (pieces_.empty()) fail("{}: the tokenizer has no pieces", source);
  if (unknown < 0 || unknown >= size()) {
    fail("{}: the unknown token is {}; the vocabulary has {} pieces", source, unknown, size());
  }
  double least = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < size(); ++i) {
    const Piece& piece = pieces_[static_cast<size_t>(i)];
    if (!(std::abs(piece.score) <= kMostScore)) {
      fail("{}: the score of piece {} is {}; expected a number between -{:g} and {:g}", source, i,
           piece.score, kMostScore, kMostScore);
    }
    if (piece.matches) {
      least = std::min(least, piece.score);
      longest_ = std::max(longest_, piece.text.size());
    }
    index_.emplace(piece.text, i);
  }
  unknown_score_ = least - kUnknownPenalty;
  if (!byte_fallback) return;
  for (int byte = 0; byte < 256; ++byte) {
    const int64_t id = find(fmt::format("<0x{:02X}>", byte));
    if (id < 0) {
      fail("{}: byte_fallback is set, but the vocabulary has no <0x{:02X}>", source, byte);
    }
    byte_tokens_.push_back(id);
  }
}

int64_t Unigram::find(std::string_view text) const {
  const auto found = index_.find(text);
  return found == index_.end() ? -1 : found->second;
}

void Unigram::append_unknown(std::string_view text, std::vector<int64_t>& ids) const {
  if (byte_tokens_.empty()) {
    ids.push_back(unknown_);
    return;
  }
  for (const char byte : text) ids.push_back(byte_tokens_[static_cast<unsigned char>(byte)]);
}

void Unigram::tokenize(std::string_view text, std::vector<int64_t>& ids) const {
  struct Step {
    double score = -std::numeric_limits<double>::infinity();
    size_t from = 0;
    int64_t id = -1;
  };
  std::vector<Step> best(text.size() + 1);  // best segmentation of the text before each byte
  best[0].score = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t character = first_code_point(text.substr(begin)).bytes;
    bool covered = false;
    const auto offer = [&](size_t end, double score, int64_t id) {
      const double total = best[begin].score + score;
      if (total > best[end].score) best[end] = {total, begin, id};
    };
    for (size_t length = 1; length <= std::min(longest_, text.size() - begin); ++length) {
      const int64_t id = find(text.substr(begin, length));
      if (id < 0 || !pieces_[static_cast<size_t>(id)].matches) continue;
      offer(begin + length, pieces_[static_cast<size_t>(id)].score, id);
      covered = covered || length == character;
    }
    if (!covered) offer(begin + character, unknown_score_, unknown_);
    begin += character;
  }

  std::vector<std::pair<size_t, int64_t>> cuts;  // begin and token, from last to first
  for (size_t at = text.size(); at > 0; at = best[at].from) {
    cuts.emplace_back(best[at].from, best[at].id);
  }
  std::reverse(cuts.begin(), cuts.end());
  for (size_t i = 0; i < cuts.size();) {
    if (cuts[i].second != unknown_) {
      ids.push_back(cuts[i++].second);
      continue;
    }
    const size_t begin = cuts[i].first;
    while (i < cuts.size() && cuts[i].second == unknown_) ++i;
    const size_t end = i < cuts.size() ? cuts[i].first : text.size();
    append_unknown(text.substr(begin, end - begin), ids);
  }
}

}  // namespace loci::model
