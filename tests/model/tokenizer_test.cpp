// SPDX-License-Identifier: Apache-2.0
// Compares token IDs with Hugging Face's tokenizers and sentencepiece; see
// tests/data/model/make_tokenizers.py.
#include "loci/model/text/tokenizer.h"

#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/file.h"

#include "../base/expect_error.h"
#include "golden_vae.h"

namespace loci::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Json& expected() {
  static const Json json = load_json(test_data("model/expected.json"));
  return json;
}

void expect_tokens(const Tokenizer& tokenizer, const std::string& reference) {
  const Json& texts = expected().at("texts");
  ASSERT_GE(texts.size(), 40u);
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto text = texts[i].get<std::string>();
    EXPECT_EQ(tokenizer.encode(text), expected().at(reference)[i].get<std::vector<int64_t>>())
        << text.substr(0, 80);
  }
}

TEST(Tokenizer, EqualsHuggingFace) {
  expect_tokens(*Tokenizer::load(test_data("model/tokenizer.json")), "tokenizer.json");
  // Older files: byte fallback, text split at spaces first.
  const TestFolder folder;
  std::filesystem::copy_file(test_data("model/tokenizer_bytes.json"), folder / "tokenizer.json");
  expect_tokens(*Tokenizer::load(folder.path()), "tokenizer_bytes.json");
}

TEST(Tokenizer, EqualsSentencepiece) {
  expect_tokens(*Tokenizer::load(test_data("model/spiece.model")), "spiece.model");
  const TestFolder folder;
  std::filesystem::copy_file(test_data("model/spiece.model"), folder / "spiece.model");
  EXPECT_EQ(Tokenizer::load(folder.path())->vocabulary(), 540);
}

TEST(Tokenizer, TruncatesBeforeTheEndToken) {
  const auto tokenizer = Tokenizer::load(test_data("model/tokenizer.json"));
  const auto text = expected().at("texts").back().get<std::string>();  // 600 words
  const std::vector<int64_t> all = tokenizer->encode(text), cut = tokenizer->encode(text, 512);
  ASSERT_GT(all.size(), 512u);
  ASSERT_EQ(cut.size(), 512u);
  EXPECT_TRUE(std::equal(cut.begin(), cut.end() - 1, all.begin()));
  EXPECT_EQ(cut.back(), 1);
  EXPECT_EQ(tokenizer->encode("", 512), (std::vector<int64_t>{1}));
  EXPECT_EQ(tokenizer->encode("a red tower", 1), (std::vector<int64_t>{1}));
}

TEST(Tokenizer, BytesNeedNoFile) {
  const ByteTokenizer bytes;
  EXPECT_EQ(bytes.vocabulary(), 259);
  EXPECT_EQ(bytes.encode("aé\xff"), (std::vector<int64_t>{100, 198, 172, 258, 1}));
  EXPECT_EQ(bytes.encode("abc", 3), (std::vector<int64_t>{100, 101, 1}));
  EXPECT_EQ(bytes.encode(""), (std::vector<int64_t>{1}));
  const TestFolder folder;
  write_file(folder / "tokenizer_config.json", R"({"tokenizer_class": "ByteTokenizer"})");
  EXPECT_EQ(Tokenizer::load(folder.path())->encode("a"), (std::vector<int64_t>{100, 1}));
}

TEST(Tokenizer, ErrorsNameMissingAndDamagedFiles) {
  const TestFolder folder;
  EXPECT_BAD_INPUT(
      Tokenizer::load(folder.path()),
      AllOf(HasSubstr("has no tokenizer"), HasSubstr("tokenizer.json"), HasSubstr("spiece.model")));
  EXPECT_BAD_INPUT(Tokenizer::load(folder / "absent"), HasSubstr("has no tokenizer"));
  write_file(folder / "tokenizer.json", R"({"model": {"type": "BPE"}})");
  EXPECT_BAD_INPUT(Tokenizer::load(folder.path()), HasSubstr("'BPE' is not supported"));
  write_file(folder / "tokenizer.json", R"({"model": {"type": "Unigram", "vocab": [["a"]]}})");
  EXPECT_BAD_INPUT(Tokenizer::load(folder.path()), HasSubstr("pairs of a piece and its score"));
  write_file(folder / "tokenizer.json",
             R"({"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 7}})");
  EXPECT_BAD_INPUT(Tokenizer::load(folder.path()), HasSubstr("the unknown token is 7"));
  // Two such scores sum to minus infinity.
  write_file(folder / "tokenizer.json",
             R"({"model": {"type": "Unigram", "vocab": [["a", -1.7e308]]}})");
  EXPECT_BAD_INPUT(Tokenizer::load(folder.path()), HasSubstr("the score of piece 0 is -1.7e+308"));
  for (const char* id : {"-1", "9223372036854775807"}) {
    write_file(folder / "tokenizer.json",
               fmt::format(R"({{"model": {{"type": "Unigram", "vocab": [["a", 0]]}},
                               "added_tokens": [{{"content": "b", "id": {}}}]}})",
                           id));
    EXPECT_BAD_INPUT(Tokenizer::load(folder.path()), HasSubstr("the token ID " + std::string(id)));
  }

  // A sentencepiece model truncated at any byte is rejected or read up to there, without overrun.
  const std::string whole = read_file(test_data("model/spiece.model"));
  for (const size_t size : {size_t{0}, size_t{1}, size_t{10}, whole.size() / 2, whole.size() - 1}) {
    write_file(folder / "cut.model", std::string_view(whole).substr(0, size));
    EXPECT_BAD_INPUT(Tokenizer::load(folder / "cut.model"), HasSubstr("cut.model"));
  }
  write_file(folder / "noise.model", "this is text and no protocol buffer");
  EXPECT_BAD_INPUT(Tokenizer::load(folder / "noise.model"), HasSubstr("noise.model"));
}

}  // namespace
}  // namespace loci::model
