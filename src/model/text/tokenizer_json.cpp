// SPDX-License-Identifier: Apache-2.0
// tokenizer.json of Hugging Face's tokenizers: the subset that Unigram models of the T5 family use.
#include <algorithm>
#include <functional>

#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/model/text/tokenizer_charsmap.h"
#include "loci/model/text/tokenizer_unigram.h"
#include "loci/model/text/utf8.h"

namespace loci::model {

namespace {

using TextMap = std::function<std::string(std::string)>;
// Splits a section of text into words; `first`: the section begins the text.
using Splitter = std::function<std::vector<std::string>(std::string text, bool first)>;

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::string decode_base64(std::string_view text, const std::string& source) {
  std::string bytes;
  uint32_t buffer = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (value < 0) fail("{}: precompiled_charsmap is not base64", source);
    buffer = buffer << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<char>(buffer >> bits & 0xFF));
    }
  }
  return bytes;
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string replace_space_runs(const std::string& text, const std::string& to) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t run = std::min(text.find_first_not_of(' ', i), text.size()) - i;
    if (run >= 2) {
      out += to;
      i += run;
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::string strip(const std::string& text, bool left, bool right) {
  std::u32string wide = to_utf32(text);
  while (right && !wide.empty() && is_space(wide.back())) wide.pop_back();
  size_t begin = 0;
  while (left && begin < wide.size() && is_space(wide[begin])) ++begin;
  return to_utf8(std::u32string_view(wide).substr(begin));
}

[[noreturn]] void unsupported(const std::string& source, const char* part,
                              const std::string& kind) {
  fail("{}: the {} '{}' is not supported; use a Unigram tokenizer of the T5 family", source, part,
       kind);
}

void add_normalizers(const Json& json, const std::string& source, std::vector<TextMap>& steps) {
  if (json.is_null()) return;
  const ConfigReader reader(json, source + ": normalizer");
  const auto kind = reader.get<std::string>("type");
  if (kind == "Sequence") {
    for (const Json& child : json.value("normalizers", Json::array())) {
      add_normalizers(child, source, steps);
    }
  } else if (kind == "Precompiled") {
    const auto packed = reader.get<std::string>("precompiled_charsmap", "");
    steps.push_back(
        [map = Charsmap(decode_base64(packed, source), source)](const std::string& text) {
          return map.empty() ? text : map.normalize_graphemes(text);
        });
  } else if (kind == "Replace") {
    const ConfigReader pattern = reader.section("pattern");
    const auto content = reader.get<std::string>("content");
    if (pattern.has("String")) {
      steps.push_back([from = pattern.get<std::string>("String"), content](std::string text) {
        return replace_all(std::move(text), from, content);
      });
    } else if (pattern.get<std::string>("Regex", "") == " {2,}") {
      steps.push_back(
          [content](const std::string& text) { return replace_space_runs(text, content); });
    } else {
      unsupported(source, "replacement pattern", pattern.json().dump());
    }
  } else if (kind == "Strip") {
    const bool left = reader.get<bool>("strip_left", true),
               right = reader.get<bool>("strip_right", true);
    steps.push_back([left, right](const std::string& text) { return strip(text, left, right); });
  } else {
    unsupported(source, "normalizer", kind);
  }
}

std::vector<std::string> split_at_spaces(const std::string& text) {
  std::vector<std::string> words;
  std::u32string word;
  for (const char32_t c : to_utf32(text) + U' ') {
    if (!is_space(c)) {
      word.push_back(c);
    } else if (!word.empty()) {
      words.push_back(to_utf8(word));
      word.clear();
    }
  }
  return words;
}

// Replaces spaces by visible marks; a word begins with its mark.
std::vector<std::string> split_at_marks(std::string text, const std::string& mark, bool prepend,
                                        bool cut) {
  text = replace_all(std::move(text), " ", mark);
  if (prepend && !text.starts_with(mark)) text.insert(0, mark);
  if (!cut) return {text};
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(mark, begin + 1), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

void add_splitters(const Json& json, const std::string& source, std::vector<Splitter>& steps) {
  if (json.is_null()) return;
  const ConfigReader reader(json, source + ": pre_tokenizer");
  const auto kind = reader.get<std::string>("type");
  if (kind == "Sequence") {
    for (const Json& child : json.value("pretokenizers", Json::array())) {
      add_splitters(child, source, steps);
    }
  } else if (kind == "WhitespaceSplit") {
    steps.push_back([](const std::string& text, bool) { return split_at_spaces(text); });
  } else if (kind == "Metaspace") {
    const auto mark = reader.get<std::string>("replacement", "\u2581");
    // Older files have add_prefix_space instead of prepend_scheme.
    const std::string scheme = reader.choose(
        "prepend_scheme", reader.get<bool>("add_prefix_space", true) ? "always" : "never",
        {"always", "first", "never"});
    const bool cut = reader.get<bool>("split", true);
    steps.push_back([mark, scheme, cut](std::string text, bool first) {
      const bool prepend = scheme == "always" || (scheme == "first" && first);
      return split_at_marks(std::move(text), mark, prepend, cut);
    });
  } else {
    unsupported(source, "pre-tokenizer", kind);
  }
}

void check_id(int64_t id, const std::string& source) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  if (id < 0 || id > kMost) fail("{}: the token ID {} is not between 0 and {}", source, id, kMost);
}

struct AddedToken {
  std::string text;
  int64_t id = 0;
};

class JsonTokenizer : public Tokenizer {
 public:
  JsonTokenizer(const Json& json, const std::string& source)
      : unigram_(read_model(json.value("model", Json::object()), source)) {
    add_normalizers(json.value("normalizer", Json()), source, normalizers_);
    add_splitters(json.value("pre_tokenizer", Json()), source, splitters_);
    for (const Json& token : json.value("added_tokens", Json::array())) {
      const ConfigReader reader(token, source + ": added_tokens");
      added_.push_back({reader.get<std::string>("content"), reader.get<int64_t>("id")});
      if (added_.back().text.empty()) fail("{}: an added token is empty", source);
      check_id(added_.back().id, source);
      vocabulary_ = std::max(vocabulary_, added_.back().id + 1);
    }
    vocabulary_ = std::max(vocabulary_, unigram_.size());
    read_template(json.value("post_processor", Json()), source);
  }

  int64_t vocabulary() const override { return vocabulary_; }

 protected:
  // Added tokens are matched in the original text. The text between them is normalised and split.
  std::vector<int64_t> tokens(std::string_view text) const override {
    std::vector<int64_t> ids;
    size_t begin = 0;
    for (size_t at = 0; at <= text.size();) {
      const AddedToken* token = at < text.size() ? added_at(text.substr(at)) : nullptr;
      if (token == nullptr && at < text.size()) {
        ++at;
        continue;
      }
      if (at > begin) section(std::string(text.substr(begin, at - begin)), begin == 0, ids);
      if (token == nullptr) break;
      ids.push_back(token->id);
      at += token->text.size();
      begin = at;
    }
    return ids;
  }

  const std::vector<int64_t>& suffix() const override { return suffix_; }

 private:
  static Unigram read_model(const Json& json, const std::string& source) {
    const ConfigReader reader(json, source + ": model");
    const auto kind = reader.get<std::string>("type", "Unigram");
    if (kind != "Unigram") unsupported(source, "model", kind);
    std::vector<Unigram::Piece> pieces;
    for (const Json& entry : json.value("vocab", Json::array())) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() ||
          !entry[1].is_number()) {
        fail("{}: model.vocab must list pairs of a piece and its score", source);
      }
      pieces.push_back({entry[0].get<std::string>(), entry[1].get<double>(), true});
    }
    return Unigram(std::move(pieces), reader.get<int64_t>("unk_id", 0),
                   reader.get<bool>("byte_fallback", false), source);
  }

  // The T5 family only appends tokens: the end of the text.
  void read_template(const Json& json, const std::string& source) {
    if (json.is_null()) return;
    const auto kind = json.value("type", "");
    if (kind != "TemplateProcessing") unsupported(source, "post-processor", kind);
    bool text_seen = false;
    for (const Json& part : json.value("single", Json::array())) {
      if (part.contains("Sequence")) {
        text_seen = true;
        continue;
      }
      const auto name = part.value("/SpecialToken/id"_json_pointer, "");
      const Json ids = json.value("special_tokens", Json::object())
                           .value(name, Json::object())
                           .value("ids", Json::array());
      if (!text_seen) unsupported(source, "token before the text", name);
      for (const Json& id : ids) {
        suffix_.push_back(id.get<int64_t>());
        check_id(suffix_.back(), source);
        vocabulary_ = std::max(vocabulary_, suffix_.back() + 1);
      }
    }
  }

  // The longest added token at the start of the text.
  const AddedToken* added_at(std::string_view text) const {
    const AddedToken* best = nullptr;
    for (const AddedToken& token : added_) {
      if (text.starts_with(token.text) &&
          (best == nullptr || token.text.size() > best->text.size())) {
        best = &token;
      }
    }
    return best;
  }

  void section(std::string text, bool first, std::vector<int64_t>& ids) const {
    for (const TextMap& normalize : normalizers_) text = normalize(std::move(text));
    if (text.empty()) return;
    std::vector<std::string> words = {std::move(text)};
    for (const Splitter& split : splitters_) {
      std::vector<std::string> smaller;
      for (std::string& word : words) {
        for (std::string& part : split(std::move(word), first && smaller.empty())) {
          smaller.push_back(std::move(part));
        }
      }
      words = std::move(smaller);
    }
    for (const std::string& word : words) unigram_.tokenize(word, ids);
  }

  Unigram unigram_;
  std::vector<TextMap> normalizers_;
  std::vector<Splitter> splitters_;
  std::vector<AddedToken> added_;
  std::vector<int64_t> suffix_;
  int64_t vocabulary_ = 0;
};

}  // namespace

std::unique_ptr<Tokenizer> load_json_tokenizer(const std::filesystem::path& path) {
  const Json json = load_json(path);
  if (!json.is_object()) fail("{} is not a tokenizer; expected a JSON object", path.string());
  try {
    return std::make_unique<JsonTokenizer>(json, path.string());
  } catch (const Json::exception& error) {
    fail("{} is not a tokenizer of Hugging Face's tokenizers: {}", path.string(), error.what());
  }
}

}  // namespace loci::model
