// SPDX-License-Identifier: Apache-2.0
#include "loci/model/text/text_prompts.h"

#include <memory>
#include <optional>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/io/tensors/checkpoint.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/text/text_clean.h"
#include "loci/model/text/text_encoder.h"
#include "loci/model/text/tokenizer.h"

namespace loci::model {

namespace fs = std::filesystem;

namespace {

constexpr const char* kWanEncoder = "models_t5_umt5-xxl-enc-bf16.pth";

// FNV-1a with two different offsets: 128 bits.
class Hash {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      a_ = (a_ ^ static_cast<unsigned char>(byte)) * kPrime;
      b_ = (b_ ^ static_cast<unsigned char>(byte)) * kPrime;
    }
    // The length after each part separates the parts.
    a_ = (a_ ^ bytes.size()) * kPrime;
    b_ = (b_ ^ ~bytes.size()) * kPrime;
  }
  std::string text() const { return fmt::format("{:016x}{:016x}", a_, b_); }

 private:
  static constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t a_ = 0xcbf29ce484222325, b_ = 0x9e3779b97f4a7c15;
};

// Identifies weights without reading all of them: names, shapes, types and a few numbers spread
// over each tensor.
void add_weights(Hash& hash, const fs::path& path) {
  const io::Checkpoint checkpoint = io::Checkpoint::open(path);
  for (const io::TensorInfo& info : checkpoint.tensors()) {
    hash.add(info.name);
    hash.add(fmt::format("{} {}", io::dtype_name(info.dtype), fmt::join(info.shape, ",")));
    const at::Tensor flat = checkpoint.tensor(info.name).flatten();
    if (flat.numel() == 0) continue;
    constexpr int64_t kSamples = 64;
    const int64_t stride = std::max<int64_t>(1, flat.numel() / kSamples);
    const at::Tensor some = flat.slice(0, 0, {}, stride).contiguous();
    hash.add({static_cast<const char*>(some.const_data_ptr()), some.nbytes()});
  }
}

fs::path tokenizer_path(const PromptOptions& options) {
  if (!options.tokenizer.empty()) return options.tokenizer;
  return fs::is_directory(options.encoder) ? options.encoder : options.encoder.parent_path();
}

void add_tokenizer(Hash& hash, const fs::path& path) {
  if (!fs::is_directory(path)) return hash.add(read_file(path));
  for (const char* name : {"tokenizer.json", "spiece.model", "tokenizer_config.json"}) {
    if (fs::exists(path / name)) return hash.add(read_file(path / name));
  }
}

// The cached embedding of this prompt, [tokens, dim]; none if it is missing, damaged or belongs to
// another prompt.
std::optional<at::Tensor> read_cached(const fs::path& file, const std::string& prompt,
                                      int64_t text_len) {
  if (!fs::exists(file)) return std::nullopt;
  try {
    const io::SafetensorsFile stored = io::SafetensorsFile::open(file);
    const auto written = stored.metadata().find("prompt");
    const at::Tensor embedding = stored.tensor("embedding");
    if (written == stored.metadata().end() || written->second != prompt || embedding.dim() != 2 ||
        embedding.size(0) > text_len || embedding.scalar_type() != at::kFloat) {
      return std::nullopt;
    }
    return embedding.clone();
  } catch (const Error& error) {
    log_warning("ignoring a cached prompt: {}", error.what());
    return std::nullopt;
  }
}

at::Tensor pad(const at::Tensor& embedding, int64_t text_len) {
  return at::constant_pad_nd(embedding, {0, 0, 0, text_len - embedding.size(0)});
}

}  // namespace

bool has_prompt_files(const fs::path& folder) {
  return fs::exists(folder / "text_encoder") || fs::exists(folder / kWanEncoder);
}

PromptOptions find_prompt_files(const fs::path& folder) {
  const fs::path wan = folder / kWanEncoder;
  if (fs::exists(folder / "text_encoder" / "config.json")) {
    return {.encoder = folder / "text_encoder",
            .tokenizer = fs::is_directory(folder / "tokenizer") ? folder / "tokenizer"
                                                                : folder / "text_encoder"};
  }
  if (fs::exists(wan)) return {.encoder = wan, .tokenizer = folder / "google" / "umt5-xxl"};
  fail("{} has no text encoder; expected text_encoder/config.json or {}", folder.string(),
       wan.filename().string());
}

std::vector<at::Tensor> encode_prompts(std::span<const std::string> prompts,
                                       const PromptOptions& options) {
  LOCI_CHECK(options.text_len > 0, "text_len is {}", options.text_len);
  const at::NoGradGuard no_grad;
  fs::path cache = options.cache;
  if (!cache.empty()) {
    std::error_code error;
    fs::create_directories(cache, error);
    if (error) {
      log_warning("prompt embeddings are not cached: cannot create {}: {}", cache.string(),
                  error.message());
      cache.clear();
    }
  }
  Hash identity;
  if (!cache.empty()) {
    add_weights(identity, options.encoder);
    add_tokenizer(identity, tokenizer_path(options));
    identity.add(fmt::format("{} {}", at::toString(options.compute), options.text_len));
  }
  std::unique_ptr<Tokenizer> tokenizer;
  std::optional<TextEncoder> encoder;
  std::vector<at::Tensor> embeddings;
  for (const std::string& raw : prompts) {
    check_interrupt();
    const std::string prompt = clean_prompt(raw);
    Hash key = identity;
    key.add(prompt);
    const fs::path file = cache / (key.text() + ".safetensors");
    std::optional<at::Tensor> embedding;
    if (!cache.empty()) embedding = read_cached(file, prompt, options.text_len);
    if (!embedding) {
      if (!encoder) {
        tokenizer = Tokenizer::load(tokenizer_path(options));
        encoder = TextEncoder::load(options.encoder, {.compute = options.compute});
      }
      embedding = encoder->encode(tokenizer->encode(prompt, options.text_len));
      if (!cache.empty()) {
        try {
          io::write_safetensors(file, {{"embedding", *embedding}}, {{"prompt", prompt}});
        } catch (const Error& error) {
          log_warning("a prompt embedding is not cached: {}", error.what());
        }
      }
    }
    embeddings.push_back(pad(*embedding, options.text_len));
  }
  return embeddings;
}

}  // namespace loci::model
