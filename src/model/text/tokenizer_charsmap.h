// SPDX-License-Identifier: Apache-2.0
// sentencepiece's precompiled character map: a double-array trie from sequences of characters to
// their normal form (NFKC and some), as stored in spiece.model and tokenizer.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loci::model {

class Charsmap {
 public:
  // Empty data is the map that changes nothing. `source` names the file in messages.
  Charsmap() = default;
  Charsmap(std::string_view data, const std::string& source);

  bool empty() const { return units_.empty(); }

  // As sentencepiece does it: at every position the longest sequence that the map knows.
  std::string normalize_longest(std::string_view text) const;

  // As Hugging Face's tokenizers does it: character by character, but units of fewer than 6 bytes
  // with combining marks first as a whole, and of all matches the shortest.
  std::string normalize_graphemes(std::string_view text) const;

 private:
  struct Match {
    size_t bytes = 0;
    std::string_view form;
  };
  // Matches at the start of the text, the shortest or the longest.
  std::optional<Match> find(std::string_view text, bool longest) const;

  std::vector<uint32_t> units_;
  std::string forms_;  // strings, each ended by a zero byte
};

}  // namespace loci::model
