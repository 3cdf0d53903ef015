// SPDX-License-Identifier: Apache-2.0
#include "loci/model/text/tokenizer.h"

#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/model/text/tokenizer_unigram.h"

namespace loci::model {

namespace fs = std::filesystem;

std::unique_ptr<Tokenizer> Tokenizer::load(const fs::path& path) {
  const bool folder = fs::is_directory(path);
  const fs::path json = folder ? path / "tokenizer.json" : path;
  const fs::path spiece = folder ? path / "spiece.model" : path;
  const fs::path config = folder ? path / "tokenizer_config.json" : path;
  if (json.filename() == "tokenizer.json" && fs::exists(json)) return load_json_tokenizer(json);
  if (spiece.extension() == ".model" && fs::exists(spiece)) return load_spiece_tokenizer(spiece);
  if (config.filename() == "tokenizer_config.json" && fs::exists(config)) {
    const Json settings = load_json(config);
    // Compared as JSON, because the value may have any type.
    if (settings.is_object() && settings.value("tokenizer_class", Json()) == "ByteTokenizer") {
      return std::make_unique<ByteTokenizer>();
    }
  }
  fail(
      "{} has no tokenizer; expected tokenizer.json, spiece.model, or a tokenizer_config.json of a "
      "ByteTokenizer; copy it from the model's text encoder or tokenizer folder",
      path.string());
}

std::vector<int64_t> Tokenizer::encode(std::string_view text, int64_t limit) const {
  std::vector<int64_t> ids = tokens(text);
  const std::vector<int64_t>& end = suffix();
  if (limit > 0) {
    const auto room = static_cast<size_t>(std::max<int64_t>(0, limit - std::ssize(end)));
    if (ids.size() > room) ids.resize(room);
  }
  ids.insert(ids.end(), end.begin(), end.end());
  return ids;
}

std::vector<int64_t> ByteTokenizer::tokens(std::string_view text) const {
  std::vector<int64_t> ids;
  for (const char byte : text) ids.push_back(kFirst + static_cast<unsigned char>(byte));
  return ids;
}

const std::vector<int64_t>& ByteTokenizer::suffix() const {
  static const std::vector<int64_t> kSuffix = {kEnd};
  return kSuffix;
}

}  // namespace loci::model
