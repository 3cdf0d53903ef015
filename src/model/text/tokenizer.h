// SPDX-License-Identifier: Apache-2.0
// Text → token IDs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace loci::model {

// Thread-safe after construction.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // A model's tokenizer: tokenizer.json (a Unigram model of Hugging Face's tokenizers), else
  // spiece.model (sentencepiece), else tokenizer_config.json with "tokenizer_class":
  // "ByteTokenizer". `path` is the folder or one of those files.
  static std::unique_ptr<Tokenizer> load(const std::filesystem::path& path);

  // Token IDs with the end-of-text token, without padding. With a limit, the text is truncated so
  // that at most `limit` IDs are returned, including the end-of-text token.
  std::vector<int64_t> encode(std::string_view text, int64_t limit = 0) const;

  virtual int64_t vocabulary() const = 0;

 protected:
  virtual std::vector<int64_t> tokens(std::string_view text) const = 0;
  // Tokens appended to every text.
  virtual const std::vector<int64_t>& suffix() const = 0;
};

// Bytes as tokens: 0 is padding, 1 ends the text, byte b is 3 + b. For small models; it needs no
// file.
class ByteTokenizer : public Tokenizer {
 public:
  static constexpr int64_t kEnd = 1, kFirst = 3;
  int64_t vocabulary() const override { return kFirst + 256; }

 protected:
  std::vector<int64_t> tokens(std::string_view text) const override;
  const std::vector<int64_t>& suffix() const override;
};

}  // namespace loci::model
