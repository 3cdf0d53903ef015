// SPDX-License-Identifier: Apache-2.0
#include "loci/model/text/text_prompts.h"

#include <algorithm>
#include <chrono>
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

// A file that was modified less than this before it was hashed may be modified again within the
// same tick of the file system's clock, which its version would not show.
constexpr int64_t kSettled = 2'000'000'000;  // nanoseconds

// Hash of all weight files. It is stored in the cache under the version of the files, so that files
// of many gigabytes are read again only after they have changed.
std::string weights_hash(const io::Checkpoint& checkpoint, const fs::path& cache) {
  Hash versions;
  int64_t newest = 0;
  for (const io::InputFile& file : checkpoint.files()) {
    const io::FileVersion& v = file.version();
    versions.add(fmt::format("{} {} {} {} {}", v.device, v.inode, v.size, v.modified, v.changed));
    newest = std::max({newest, v.modified, v.changed});
  }
  const fs::path known = cache / (versions.text() + ".weights");
  if (fs::exists(known)) {
    const std::string text = read_file(known);
    if (text.size() == Hash().text().size()) return text;
  }
  Hash content;
  for (const io::InputFile& file : checkpoint.files()) content.add(file.hash());
  const int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  if (now - newest > kSettled) {
    try {
      write_file(known, content.text());
    } catch (const Error& error) {
      log_debug("the hash of the text encoder is not cached: {}", error.what());
    }
  }
  return content.text();
}

fs::path tokenizer_path(const PromptOptions& options) {
  if (!options.tokenizer.empty()) return options.tokenizer;
  return fs::is_directory(options.encoder) ? options.encoder : options.encoder.parent_path();
}

void add_tokenizer(Hash& hash, const fs::path& path) {
  if (!fs::is_directory(path)) return hash.add(read_file(path));
  for (const char* name : {"tokenizer.json", "spiece.model", "tokenizer_config.json"}) {
    if (!fs::exists(path / name)) continue;
    hash.add(name);
    hash.add(read_file(path / name));
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
    return embedding;
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
  if (const fs::path nested = folder / "text_encoder" / kWanEncoder; fs::exists(nested)) {
    return {.encoder = nested, .tokenizer = folder / "tokenizer"};
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
  const TextConfig config = find_text_config(options.encoder);
  // Opened once: the weights that are hashed are the ones that are loaded below.
  const io::Checkpoint weights = io::Checkpoint::open(options.encoder);
  Hash identity;
  if (!cache.empty()) {
    identity.add(config.to_json().dump());
    identity.add(weights_hash(weights, cache));
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
        encoder = TextEncoder::load(config, weights, {.compute = options.compute});
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
