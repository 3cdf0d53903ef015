// SPDX-License-Identifier: Apache-2.0
// Unigram language model tokenization: the segmentation of a text into known pieces with the
// highest sum of scores.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loci/model/text/tokenizer.h"

namespace loci::model {

class Unigram {
 public:
  struct Piece {
    std::string text;
    double score = 0;
    bool matches = true;  // false: never matched in text (control symbols, bytes)
  };

  // `unknown` is the token of characters that no piece covers. With byte_fallback, these characters
  // become the tokens <0x00> to <0xFF> of their bytes. `source` names the file in messages.
  Unigram(std::vector<Piece> pieces, int64_t unknown, bool byte_fallback,
          const std::string& source);

  Unigram(Unigram&&) = default;  // not copyable: the index points into the pieces
  Unigram& operator=(Unigram&&) = default;

  // Appends the tokens of `text`. A run of unknown characters becomes one unknown token.
  void tokenize(std::string_view text, std::vector<int64_t>& ids) const;

  int64_t size() const { return static_cast<int64_t>(pieces_.size()); }
  // The token whose text is `text`, or -1.
  int64_t find(std::string_view text) const;

 private:
  void append_unknown(std::string_view text, std::vector<int64_t>& ids) const;

  std::vector<Piece> pieces_;
  std::unordered_map<std::string_view, int64_t> index_;  // keys point into pieces_
  std::vector<int64_t> byte_tokens_;                     // 256 or none
  size_t longest_ = 0;                                   // bytes
  int64_t unknown_ = 0;
  double unknown_score_ = 0;
};

std::unique_ptr<Tokenizer> load_json_tokenizer(const std::filesystem::path& path);
std::unique_ptr<Tokenizer> load_spiece_tokenizer(const std::filesystem::path& path);

}  // namespace loci::model
