// SPDX-License-Identifier: Apache-2.0
// spiece.model of sentencepiece: a protocol buffer with pieces, scores and a normaliser.
#include <algorithm>
#include <cstring>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/model/text/tokenizer_charsmap.h"
#include "loci/model/text/tokenizer_unigram.h"

namespace loci::model {

namespace {

// The subset of the protocol buffer format that the file uses.
class Message {
 public:
  struct Field {
    uint64_t number = 0;
    uint64_t value = 0;      // an integer, or the bits of a 32-bit number
    std::string_view bytes;  // a string or a message
  };

  Message(std::string_view data, const std::string& source) : rest_(data), source_(&source) {}

  // Reads the next field; false at the end.
  bool next(Field& field) {
    if (rest_.empty()) return false;
    const uint64_t key = varint();
    field = {key >> 3, 0, {}};
    switch (key & 7) {
      case 0:
        field.value = varint();
        return true;
      case 1:
        field.bytes = take(8);
        return true;
      case 2:
        field.bytes = take(varint());
        return true;
      case 5: {
        const std::string_view bits = take(4);
        for (size_t i = 4; i-- > 0;)
          field.value = field.value << 8 | static_cast<unsigned char>(bits[i]);
        return true;
      }
      default:
        damaged();
    }
  }

 private:
  [[noreturn]] void damaged() const {
    fail("{} is not a sentencepiece model or is damaged", *source_);
  }

  std::string_view take(uint64_t count) {
    if (count > rest_.size()) damaged();
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    damaged();
  }

  std::string_view rest_;
  const std::string* source_;
};

enum PieceKind : uint64_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

struct Spiece {
  std::vector<Unigram::Piece> pieces;
  std::vector<PieceKind> kinds;
  uint64_t model = 1;  // 1 is Unigram
  int64_t end = 1;
  bool byte_fallback = false;
  bool space_as_suffix = false;
  std::string_view charsmap;
  bool dummy_prefix = true, remove_extra_spaces = true, escape_spaces = true;
};

void read_piece(std::string_view data, const std::string& source, Spiece& spiece) {
  Message message(data, source);
  Unigram::Piece piece;
  uint64_t kind = kNormal;
  for (Message::Field field; message.next(field);) {
    if (field.number == 1) piece.text = field.bytes;
    if (field.number == 2) {
      const auto bits = static_cast<uint32_t>(field.value);
      float score;
      std::memcpy(&score, &bits, sizeof score);
      piece.score = score;
    }
    if (field.number == 3) kind = field.value;
  }
  if (kind < kNormal || kind > kByte)
    fail("{}: piece '{}' has the unknown kind {}", source, piece.text, kind);
  piece.matches = kind == kNormal || kind == kUserDefined;
  spiece.pieces.push_back(std::move(piece));
  spiece.kinds.push_back(static_cast<PieceKind>(kind));
}

Spiece read_spiece(std::string_view data, const std::string& source) {
  Spiece spiece;
  Message message(data, source);
  for (Message::Field field; message.next(field);) {
    if (field.number == 1) read_piece(field.bytes, source, spiece);
    Message inner(field.bytes, source);
    Message::Field part;
    if (field.number == 2) {  // training settings
      while (inner.next(part)) {
        if (part.number == 3) spiece.model = part.value;
        if (part.number == 24) spiece.space_as_suffix = part.value != 0;
        if (part.number == 35) spiece.byte_fallback = part.value != 0;
        if (part.number == 42) spiece.end = static_cast<int32_t>(part.value);
      }
    } else if (field.number == 3) {  // normalisation settings
      while (inner.next(part)) {
        if (part.number == 2) spiece.charsmap = part.bytes;
        if (part.number == 3) spiece.dummy_prefix = part.value != 0;
        if (part.number == 4) spiece.remove_extra_spaces = part.value != 0;
        if (part.number == 5) spiece.escape_spaces = part.value != 0;
      }
    }
  }
  if (spiece.pieces.empty()) fail("{} has no pieces; is it a sentencepiece model?", source);
  if (spiece.model != 1 || spiece.space_as_suffix || !spiece.escape_spaces) {
    fail("{}: only Unigram models with visible spaces before words are supported", source);
  }
  return spiece;
}

class SpieceTokenizer : public Tokenizer {
 public:
  SpieceTokenizer(Spiece spiece, const std::string& source)
      : charsmap_(spiece.charsmap, source),
        dummy_prefix_(spiece.dummy_prefix),
        remove_extra_spaces_(spiece.remove_extra_spaces),
        unigram_(make_unigram(spiece, source)) {
    if (spiece.end >= 0) suffix_ = {spiece.end};
    if (spiece.end >= unigram_.size()) {
      fail("{}: the end token is {}; the vocabulary has {} pieces", source, spiece.end,
           unigram_.size());
    }
  }

  int64_t vocabulary() const override { return unigram_.size(); }

 protected:
  std::vector<int64_t> tokens(std::string_view text) const override {
    std::string normal = charsmap_.empty() ? std::string(text) : charsmap_.normalize_longest(text);
    if (remove_extra_spaces_) normal = without_extra_spaces(normal);
    std::vector<int64_t> ids;
    if (normal.empty()) return ids;
    std::string marked = dummy_prefix_ ? kMark : "";
    for (const char byte : normal) {
      if (byte == ' ') {
        marked += kMark;
      } else {
        marked += byte;
      }
    }
    unigram_.tokenize(marked, ids);
    return ids;
  }

  const std::vector<int64_t>& suffix() const override { return suffix_; }

 private:
  static constexpr const char* kMark = "\u2581";

  // User-defined pieces take precedence over any other segmentation.
  static Unigram make_unigram(Spiece& spiece, const std::string& source) {
    double highest = -1e9;
    int64_t unknown = -1;
    for (size_t i = 0; i < spiece.pieces.size(); ++i) {
      if (spiece.kinds[i] == kNormal) highest = std::max(highest, spiece.pieces[i].score);
      if (spiece.kinds[i] == kUnknown) unknown = static_cast<int64_t>(i);
    }
    for (size_t i = 0; i < spiece.pieces.size(); ++i) {
      if (spiece.kinds[i] == kUserDefined) {
        spiece.pieces[i].score = static_cast<double>(spiece.pieces[i].text.size()) * highest - 0.1;
      }
    }
    return Unigram(std::move(spiece.pieces), unknown, spiece.byte_fallback, source);
  }

  static std::string without_extra_spaces(std::string_view text) {
    std::string out;
    for (const char byte : text) {
      if (byte == ' ' && (out.empty() || out.back() == ' ')) continue;
      out += byte;
    }
    if (!out.empty() && out.back() == ' ') out.pop_back();
    return out;
  }

  Charsmap charsmap_;
  bool dummy_prefix_, remove_extra_spaces_;
  Unigram unigram_;
  std::vector<int64_t> suffix_;
};

}  // namespace

std::unique_ptr<Tokenizer> load_spiece_tokenizer(const std::filesystem::path& path) {
  const std::string data = read_file(path);
  return std::make_unique<SpieceTokenizer>(read_spiece(data, path.string()), path.string());
}

}  // namespace loci::model
