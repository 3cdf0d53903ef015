// SPDX-License-Identifier: Apache-2.0
// The umT5 encoder: token IDs → one vector per token.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/io/tensors/checkpoint.h"
#include "loci/model/transformer/layers.h"
#include "loci/model/weights/parameters.h"

namespace loci::model {

// config.json of a UMT5EncoderModel. The defaults are those of umT5-XXL, which Wan uses.
struct TextConfig {
  int64_t vocab_size = 256384;
  int64_t d_model = 4096;
  int64_t d_kv = 64;  // channels per head
  int64_t d_ff = 10240;
  int64_t num_heads = 64;
  int64_t num_layers = 24;
  int64_t buckets = 32;        // of relative positions
  int64_t max_distance = 128;  // larger distances share the last bucket
  double eps = 1e-6;

  static TextConfig from_json(const Json& json, const std::string& where);
  Json to_json() const;
};

// Names of parameters as in Hugging Face's UMT5EncoderModel. Differentiable.
struct TextNetwork {
  struct Block {
    RmsNorm attention_norm, feed_forward_norm;
    Linear q, k, v, o;
    at::Tensor distance_bias;  // [buckets, heads]; every block has its own
    Linear gate, in, out;      // out(gelu(gate x) * in x)
  };

  TextConfig config;
  at::Tensor embedding;  // [vocabulary, d_model]
  std::vector<Block> blocks;
  RmsNorm final_norm;

  TextNetwork(const Scope& scope, const TextConfig& config);

  // ids int64 [B, L]; mask [B, L], zero at padding, undefined = no padding. Returns [B, L, d_model]
  // in `type`; the values at padding are meaningless.
  at::Tensor operator()(const at::Tensor& ids, const at::Tensor& mask, at::ScalarType type) const;

 private:
  at::Tensor attend(const Block& block, const at::Tensor& x, const at::Tensor& buckets,
                    const at::Tensor& hidden) const;
};

// An encoder that owns its weights.
class TextEncoder {
 public:
  struct Options {
    at::ScalarType dtype = at::kFloat;  // type of weights, unless as_stored
    bool as_stored = true;              // keep the type of the file
    at::ScalarType compute = at::kFloat;
    uint64_t seed = 0;
  };

  // An encoder with random weights.
  explicit TextEncoder(const TextConfig& config);
  TextEncoder(const TextConfig& config, const Options& options);

  // Loads a folder with config.json and weights, or a weights file, with the names of Hugging Face
  // or of the original Wan. A file without a text encoder's config.json in its folder must be
  // umT5-XXL. Missing, unexpected and wrongly shaped tensors are bad input.
  static TextEncoder load(const std::filesystem::path& path);
  static TextEncoder load(const std::filesystem::path& path, const Options& options);
  static TextEncoder load(const TextConfig& config, const std::filesystem::path& weights,
                          const Options& options);
  static TextEncoder load(const TextConfig& config, const io::Checkpoint& checkpoint,
                          const Options& options);

  const TextConfig& config() const { return network_->config; }
  const Parameters& parameters() const { return *parameters_; }

  // Hidden states [tokens, d_model] of one text, FP32.
  at::Tensor encode(std::span<const int64_t> ids) const;
  at::Tensor forward(const at::Tensor& ids, const at::Tensor& mask) const {
    return (*network_)(ids, mask, compute_);
  }

 private:
  TextEncoder(const TextConfig& config, std::unique_ptr<Parameters> parameters,
              at::ScalarType compute);

  std::unique_ptr<Parameters> parameters_;
  std::unique_ptr<TextNetwork> network_;
  at::ScalarType compute_ = at::kFloat;
};

// The Hugging Face name of an original name, for example "blocks.0.attn.q.weight" →
// "encoder.block.0.layer.0.SelfAttention.q.weight". Other names are returned unchanged.
std::string text_name_from_wan(const std::string& name);

// The config for the weights at `path`; see TextEncoder::load().
TextConfig find_text_config(const std::filesystem::path& path);

}  // namespace loci::model
