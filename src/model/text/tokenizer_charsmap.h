// SPDX-License-Identifier: Apache-2.0
// sentencepiece's precompiled character map: a double-array trie from character sequences to their
// normal form (NFKC with additions), as stored in spiece.model and tokenizer.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loci::model {

class Charsmap {
 public:
  // Empty data is the identity map. `source` names the file in messages.
  Charsmap() = default;
  Charsmap(std::string_view data, const std::string& source);

  bool empty() const { return units_.empty(); }

  // Like sentencepiece: replaces the longest known sequence at every position.
  std::string normalize_longest(std::string_view text) const;

  // Like Hugging Face's tokenizers: character by character with the shortest match, after trying
  // graphemes with combining marks of fewer than 6 bytes as a whole.
  std::string normalize_graphemes(std::string_view text) const;

 private:
  struct Match {
    size_t bytes = 0;
    std::string_view form;
  };
  // The shortest or longest match at the start of the text.
  std::optional<Match> find(std::string_view text, bool longest) const;

  std::vector<uint32_t> units_;
  std::string forms_;  // zero-terminated strings
};

}  // namespace loci::model
