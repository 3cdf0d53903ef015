// SPDX-License-Identifier: Apache-2.0
// Cleaning of prompts, the text encoder, and cached embeddings.
#include <chrono>
#include <fstream>
#include <thread>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/base/machine.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/text/text_clean.h"
#include "loci/model/text/text_encoder.h"
#include "loci/model/text/text_prompts.h"
#include "loci/model/text/tokenizer.h"

#include "../base/expect_error.h"
#include "golden_vae.h"

namespace loci::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TextCleaning, EqualsWanOnDifficultPrompts) {
  const Json expected = load_json(test_data("model/expected.json"));
  ASSERT_GE(expected.at("prompts").size(), 20u);
  for (size_t i = 0; i < expected.at("prompts").size(); ++i) {
    EXPECT_EQ(clean_prompt(expected.at("prompts")[i].get<std::string>()),
              expected.at("cleaned")[i].get<std::string>())
        << expected.at("prompts")[i];
  }
}

TEST(TextCleaning, AcceptsInvalidBytes) {
  EXPECT_EQ(clean_prompt(""), "");
  EXPECT_EQ(clean_prompt(" \n\t "), "");
  EXPECT_EQ(clean_prompt("a\xff\xfe"
                         "b"),
            "a\uFFFD\uFFFD"
            "b");
  EXPECT_EQ(clean_prompt("cut \xe2\x82"), "cut \uFFFD\uFFFD");
  EXPECT_EQ(clean_prompt("&#99999999999999999999;&"), "\uFFFD&");
}

// A model folder with a text encoder of two small blocks and a byte tokenizer.
class Prompts : public ::testing::Test {
 protected:
  Prompts() {
    TextConfig config;
    config.vocab_size = 259;
    config.d_model = 16;
    config.d_kv = 4;
    config.d_ff = 24;
    config.num_heads = 4;
    config.num_layers = 2;
    write(config, 1);
    std::filesystem::create_directories(folder_ / "tokenizer");
    write_file(folder_ / "tokenizer/tokenizer_config.json",
               R"({"tokenizer_class": "ByteTokenizer"})");
    options_ = find_prompt_files(folder_.path());
    options_.cache = folder_ / "cache";
  }

  void write(const TextConfig& config, uint64_t seed) {
    std::filesystem::create_directories(folder_ / "text_encoder");
    const TextEncoder encoder(config, {.seed = seed});
    io::NamedTensors tensors;
    for (const Parameter& parameter : encoder.parameters().all()) {
      tensors.emplace_back(parameter.name, parameter.tensor.detach());
    }
    io::write_safetensors(folder_ / "text_encoder/model.safetensors", tensors);
    write_file(folder_ / "text_encoder/config.json", config.to_json().dump());
  }

  at::Tensor embed(const std::string& prompt) {
    return encode_prompts(std::vector<std::string>{prompt}, options_).at(0);
  }

  // Files of the cache: embeddings, or hashes of weights.
  std::vector<std::filesystem::path> cache_files(const std::string& extension) const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cache")) {
      if (entry.path().extension() == extension) files.push_back(entry.path());
    }
    return files;
  }
  int64_t cached() const { return std::ssize(cache_files(".safetensors")); }

  const TestFolder folder_;
  PromptOptions options_;
};

TEST_F(Prompts, ArePaddedWithZeros) {
  const at::NoGradGuard no_grad;
  const at::Tensor embedding = embed("  a &amp; b ");
  EXPECT_EQ(embedding.sizes().vec(), (std::vector<int64_t>{512, 16}));
  const TextEncoder encoder = TextEncoder::load(folder_ / "text_encoder");
  const at::Tensor expected = encoder.encode(ByteTokenizer().encode("a & b"));
  ASSERT_EQ(expected.size(0), 6);
  EXPECT_TRUE(embedding.narrow(0, 0, 6).equal(expected));
  EXPECT_EQ(embedding.narrow(0, 6, 506).abs().max().item<float>(), 0);
  EXPECT_GT(embedding[5].abs().max().item<float>(), 0);
  // Truncated before the end token, down to the end token alone.
  EXPECT_GT(embed(std::string(600, 'x'))[511].abs().max().item<float>(), 0);
  EXPECT_EQ(embed("").narrow(0, 1, 511).abs().max().item<float>(), 0);
}

TEST_F(Prompts, AreReadFromTheCacheWithoutTheEncoder) {
  const std::vector<std::string> both = {"a tower", "a river"};
  const std::vector<at::Tensor> first = encode_prompts(both, options_);
  EXPECT_EQ(cached(), 2);
  EXPECT_FALSE(first[0].equal(first[1]));
  // Without the tokenizer, new prompts cannot be encoded.
  std::filesystem::rename(folder_ / "tokenizer", folder_ / "away");
  std::filesystem::create_directories(folder_ / "tokenizer");
  EXPECT_BAD_INPUT(encode_prompts(std::vector<std::string>{"new"}, options_),
                   HasSubstr("has no tokenizer"));
  std::filesystem::remove(folder_ / "tokenizer");
  std::filesystem::rename(folder_ / "away", folder_ / "tokenizer");

  // Prompts that are equal after cleaning share a file; other weights, lengths and tokenizers do
  // not.
  EXPECT_TRUE(embed(" a   tower").equal(first[0]));
  EXPECT_EQ(cached(), 2);
  // Cached embeddings are not encoded again.
  for (const std::filesystem::path& file : cache_files(".safetensors")) {
    const auto metadata = io::SafetensorsFile::open(file).metadata();
    if (metadata.at("prompt") != "a tower") continue;
    io::write_safetensors(file, {{"embedding", at::full({1, 16}, 3.0)}}, metadata);
  }
  EXPECT_EQ(embed("a tower")[0][0].item<float>(), 3);
  options_.text_len = 64;
  EXPECT_EQ(embed("a tower").size(0), 64);
  EXPECT_EQ(cached(), 3);
  options_.text_len = 512;
  write(find_text_config(folder_ / "text_encoder"), 2);
  EXPECT_FALSE(embed("a tower").equal(first[0]));
  EXPECT_EQ(cached(), 4);
}

TEST_F(Prompts, AreEncodedAgainWhenTheEncoderChanges) {
  const std::filesystem::path weights = folder_ / "text_encoder/model.safetensors";
  const at::Tensor first = embed("a tower");
  EXPECT_EQ(cached(), 1);
  // Every element of the file counts, also in a large tensor.
  const io::SafetensorsFile file = io::SafetensorsFile::open(weights);
  io::NamedTensors tensors;
  for (const io::TensorInfo& info : file.tensors()) {
    tensors.emplace_back(info.name, file.tensor(info.name));
    if (info.name == "shared.weight") tensors.back().second[1][3] += 1;  // the end token
  }
  io::write_safetensors(weights, tensors);
  const at::Tensor second = embed("a tower");
  EXPECT_FALSE(second.equal(first));
  EXPECT_EQ(cached(), 2);
  // So does the config, also where it changes no shape.
  TextConfig config = find_text_config(folder_ / "text_encoder");
  config.eps = 0.1;
  write_file(folder_ / "text_encoder/config.json", config.to_json().dump());
  EXPECT_FALSE(embed("a tower").equal(second));
  EXPECT_EQ(cached(), 3);
}

TEST_F(Prompts, TheHashOfUnchangedWeightsIsStored) {
  // Files that were changed just now are hashed every time.
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  const at::Tensor first = embed("a tower");
  ASSERT_EQ(cache_files(".weights").size(), 1u);
  // The stored hash is part of the key: another one leads to another file.
  EXPECT_TRUE(embed("a tower").equal(first));
  EXPECT_EQ(cached(), 1);
  write_file(cache_files(".weights").front(), std::string(32, '0'));
  EXPECT_TRUE(embed("a tower").equal(first));
  EXPECT_EQ(cached(), 2);
  // It is not used for changed weights.
  write(find_text_config(folder_ / "text_encoder"), 2);
  EXPECT_FALSE(embed("a tower").equal(first));
}

TEST_F(Prompts, DamagedCacheFilesAreReplaced) {
  const at::Tensor first = embed("a tower");
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cache")) {
    std::ofstream(entry.path(), std::ios::trunc) << "damaged";
  }
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(embed("a tower").equal(first));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("ignoring a cached prompt"));
  EXPECT_TRUE(embed("a tower").equal(first));
}

TEST_F(Prompts, TheEncoderIsReleasedAfterUse) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer keeps freed memory";
#endif
  // 64 MiB of weights, which must not stay in memory, copied or mapped. For smaller sizes the C
  // library decides whether freed memory is returned.
  return_large_blocks();
  TextConfig large = find_text_config(folder_ / "text_encoder");
  large.d_model = 1024;
  large.d_ff = 2048;
  large.num_layers = 2;
  write(large, 3);
  options_.cache.clear();
  embed("warm up");
  const uint64_t before = process_memory().value().now;
  ASSERT_TRUE(reset_peak_memory());
  embed("a tower");
  const ProcessMemory after = process_memory().value();
  EXPECT_GT(after.peak - before, 32u << 20);
  EXPECT_LT(after.now, before + (16u << 20));
}

TEST_F(Prompts, ErrorsNameMissingFiles) {
  const TestFolder& folder = folder_;
  EXPECT_BAD_INPUT(find_prompt_files(folder / "tokenizer"),
                   AllOf(HasSubstr("has no text encoder"), HasSubstr("text_encoder/config.json")));
  std::filesystem::remove_all(folder / "tokenizer");
  options_ = find_prompt_files(folder.path());
  options_.cache = folder / "cache";
  EXPECT_BAD_INPUT(embed("a"), HasSubstr("has no tokenizer"));
  // A tokenizer of another model.
  std::filesystem::copy_file(test_data("model/spiece.model"), folder / "text_encoder/spiece.model");
  EXPECT_BAD_INPUT(embed("a red tower"), HasSubstr("they belong to different models"));
}

TEST(TextEncoder, LoadsOriginalNames) {
  const at::NoGradGuard no_grad;
  const io::SafetensorsFile golden =
      io::SafetensorsFile::open(test_data("golden/text_encoder_a.safetensors"));
  const TextConfig config =
      TextConfig::from_json(parse_json(golden.metadata().at("loci.config"), "x"), "x");
  const TextEncoder original =
      TextEncoder::load(config, test_data("golden/weights_text_a.safetensors"), {});
  const TestFolder folder;
  io::NamedTensors tensors;
  for (const Parameter& parameter : original.parameters().all()) {
    tensors.emplace_back(parameter.name, parameter.tensor);
  }
  io::write_safetensors(folder / "model.safetensors", tensors);
  write_file(folder / "config.json", config.to_json().dump());
  const TextEncoder again = TextEncoder::load(folder.path());
  const std::vector<int64_t> ids = {5, 17, 299, 1};
  EXPECT_TRUE(original.encode(ids).equal(again.encode(ids)));
  // Masked tokens do not affect the others.
  const at::Tensor row = at::tensor(ids, at::kLong).unsqueeze(0);
  const at::Tensor padded = at::cat({row, at::full({1, 3}, 7, at::kLong)}, 1);
  const at::Tensor mask = at::cat({at::ones({1, 4}), at::zeros({1, 3})}, 1);
  EXPECT_LT(
      largest_difference(original.forward(padded, mask).narrow(1, 0, 4), original.forward(row, {})),
      1e-5);
  EXPECT_BAD_INPUT(original.encode(std::vector<int64_t>{300}), HasSubstr("token 300"));
  EXPECT_BAD_INPUT(
      TextEncoder::load(TextConfig(), test_data("golden/weights_text_a.safetensors"), {}),
      HasSubstr("does not fit the text encoder's config"));
}

}  // namespace
}  // namespace loci::model
