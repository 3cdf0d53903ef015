// SPDX-License-Identifier: Apache-2.0
// The umT5 encoder: token numbers to one vector a token.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/model/transformer/layers.h"
#include "loci/model/weights/parameters.h"

namespace loci::model {

// config.json of a UMT5EncoderModel. The defaults are those of umT5-XXL, which Wan uses.
struct TextConfig {
  int64_t vocab_size = 256384;
  int64_t d_model = 4096;
  int64_t d_kv = 64;  // channels a head
  int64_t d_ff = 10240;
  int64_t num_heads = 64;
  int64_t num_layers = 24;
  int64_t buckets = 32;        // of distances between tokens
  int64_t max_distance = 128;  // from which on all distances are alike
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

  // ids int64 [B, L]; mask [B, L], nonzero where a token stands, or undefined when all do. Gives
  // [B, L, d_model] in `type`; what stands at masked places has no meaning.
  at::Tensor operator()(const at::Tensor& ids, const at::Tensor& mask, at::ScalarType type) const;

 private:
  at::Tensor attend(const Block& block, const at::Tensor& x, const at::Tensor& buckets,
                    const at::Tensor& hidden) const;
};

// An encoder with weights of its own.
class TextEncoder {
 public:
  struct Options {
    at::ScalarType dtype = at::kFloat;  // of weights; kept as stored in the file if `as_stored`
    bool as_stored = true;              // maps the file's tensors instead of copying them
    at::ScalarType compute = at::kFloat;
    uint64_t seed = 0;
  };

  // With random weights.
  explicit TextEncoder(const TextConfig& config);
  TextEncoder(const TextConfig& config, const Options& options);

  // From a folder with config.json and weights, or a file of weights, in the naming of Hugging Face
  // or of the original Wan. A file without a text encoder's config.json beside it is taken for
  // umT5-XXL. Weights that are missing, left over or of the wrong shape are bad input.
  static TextEncoder load(const std::filesystem::path& path);
  static TextEncoder load(const std::filesystem::path& path, const Options& options);
  static TextEncoder load(const TextConfig& config, const std::filesystem::path& weights,
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

// "blocks.0.attn.q.weight" to "encoder.block.0.layer.0.SelfAttention.q.weight"; other names come
// back unchanged.
std::string text_name_from_wan(const std::string& name);

// The sizes that belong to the weights at `path`; see TextEncoder::load().
TextConfig find_text_config(const std::filesystem::path& path);

}  // namespace loci::model
