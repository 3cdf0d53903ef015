// SPDX-License-Identifier: Apache-2.0
// Tokenizer files and texts.
#include "loci/model/text/text_clean.h"
#include "loci/model/text/tokenizer.h"
#include "loci/model/text/tokenizer_charsmap.h"

#include "fuzz/target.h"

namespace loci::fuzz {

namespace {

// A file and a text, separated by a zero byte, which JSON does not contain.
void tokenize(std::string_view name, std::string_view bytes) {
  const size_t cut = std::min(bytes.rfind('\0'), bytes.size());
  const auto tokenizer = model::Tokenizer::load(scratch_file(name, bytes.substr(0, cut)));
  const std::string_view text = cut < bytes.size() ? bytes.substr(cut + 1) : "a red hill é 1";
  for (const int64_t limit : {0, 8}) tokenizer->encode(text, limit);
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

}  // namespace loci::fuzz
