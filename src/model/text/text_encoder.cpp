// SPDX-License-Identifier: Apache-2.0
#include "loci/model/text/text_encoder.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/kernels/elementwise/gelu.h"

namespace loci::model {

namespace fs = std::filesystem;

namespace {

// Bucket of the distance from query i to key j, [L, L]. Half of the buckets are for keys to the
// right. In each half, the first half of the buckets holds one distance each and the rest grow
// logarithmically.
at::Tensor distance_buckets(int64_t length, const TextConfig& config, at::Device device) {
  const at::Tensor place = at::arange(length, at::TensorOptions(at::kLong).device(device));
  const at::Tensor distance = place.unsqueeze(0) - place.unsqueeze(1);
  const int64_t half = config.buckets / 2, exact = half / 2;
  const at::Tensor far = distance.abs();
  const double range =
      std::log(static_cast<double>(config.max_distance) / static_cast<double>(exact));
  const at::Tensor large =
      exact + (at::log(far.to(at::kFloat) / exact) / range * (half - exact)).to(at::kLong);
  return (distance > 0).to(at::kLong) * half +
         at::where(far < exact, far, large.clamp_max(half - 1));
}

const std::vector<std::string> kForeignKeys = {"_class_name",
                                               "_name_or_path",
                                               "architectures",
                                               "classifier_dropout",
                                               "decoder_start_token_id",
                                               "dense_act_fn",
                                               "dropout_rate",
                                               "dtype",
                                               "eos_token_id",
                                               "initializer_factor",
                                               "is_encoder_decoder",
                                               "is_gated_act",
                                               "model_type",
                                               "num_decoder_layers",
                                               "output_past",
                                               "pad_token_id",
                                               "scalable_attention",
                                               "tie_word_embeddings",
                                               "tokenizer_class",
                                               "torch_dtype",
                                               "transformers_version",
                                               "use_cache"};

}  // namespace

TextConfig TextConfig::from_json(const Json& json, const std::string& where) {
  const ConfigReader reader(json, where);
  reader.ignore(kForeignKeys);
  TextConfig config;
  config.vocab_size = reader.get<int64_t>("vocab_size", config.vocab_size, 1, 10'000'000);
  config.d_model = reader.get<int64_t>("d_model", config.d_model, 1, 65536);
  config.d_kv = reader.get<int64_t>("d_kv", config.d_kv, 1, 4096);
  config.d_ff = reader.get<int64_t>("d_ff", config.d_ff, 1, 262144);
  config.num_heads = reader.get<int64_t>("num_heads", config.num_heads, 1, 1024);
  config.num_layers = reader.get<int64_t>("num_layers", config.num_layers, 1, 1000);
  config.buckets = reader.get<int64_t>("relative_attention_num_buckets", config.buckets, 4, 65536);
  config.max_distance =
      reader.get<int64_t>("relative_attention_max_distance", config.max_distance, 2, 1 << 30);
  config.eps = reader.get<double>("layer_norm_epsilon", config.eps, 0.0, 1.0);
  const auto activation = reader.get<std::string>("feed_forward_proj", "gated-gelu");
  if (activation != "gated-gelu") {
    fail("{}: feed_forward_proj is '{}'; expected 'gated-gelu' (umT5)", where, activation);
  }
  if (config.max_distance <= config.buckets / 4) {
    fail("{}: relative_attention_max_distance is {}; with {} buckets it must exceed {}", where,
         config.max_distance, config.buckets, config.buckets / 4);
  }
  reader.finish();
  return config;
}

Json TextConfig::to_json() const {
  return Json{{"_class_name", "UMT5EncoderModel"},
              {"model_type", "umt5"},
              {"vocab_size", vocab_size},
              {"d_model", d_model},
              {"d_kv", d_kv},
              {"d_ff", d_ff},
              {"num_heads", num_heads},
              {"num_layers", num_layers},
              {"relative_attention_num_buckets", buckets},
              {"relative_attention_max_distance", max_distance},
              {"layer_norm_epsilon", eps},
              {"feed_forward_proj", "gated-gelu"}};
}

TextNetwork::TextNetwork(const Scope& scope, const TextConfig& sizes) : config(sizes) {
  const int64_t dim = config.d_model, inner = config.num_heads * config.d_kv;
  embedding = scope["shared"].parameter("weight", {config.vocab_size, dim}, init::normal(1));
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const Scope attention = scope["encoder"]["block"][i]["layer"][0];
    const Scope feed_forward = scope["encoder"]["block"][i]["layer"][1];
    const Scope maps = attention["SelfAttention"], dense = feed_forward["DenseReluDense"];
    Block& block = blocks.emplace_back();
    block.q = Linear(maps["q"], dim, inner, false);
    block.k = Linear(maps["k"], dim, inner, false);
    block.v = Linear(maps["v"], dim, inner, false);
    block.o = Linear(maps["o"], inner, dim, false);
    block.distance_bias = maps["relative_attention_bias"].parameter(
        "weight", {config.buckets, config.num_heads}, init::normal(0.1));
    block.attention_norm = RmsNorm(attention["layer_norm"], dim, config.eps);
    block.gate = Linear(dense["wi_0"], dim, config.d_ff, false);
    block.in = Linear(dense["wi_1"], dim, config.d_ff, false);
    block.out = Linear(dense["wo"], config.d_ff, dim, false);
    block.feed_forward_norm = RmsNorm(feed_forward["layer_norm"], dim, config.eps);
  }
  final_norm = RmsNorm(scope["encoder"]["final_layer_norm"], dim, config.eps);
}

// Scores are not divided by the root of the head size; T5 includes the factor in its weights.
at::Tensor TextNetwork::attend(const Block& block, const at::Tensor& x, const at::Tensor& buckets,
                               const at::Tensor& hidden) const {
  const auto heads = [&](const at::Tensor& flat) {
    return flat.unflatten(-1, {config.num_heads, config.d_kv}).transpose(1, 2);  // [B, H, L, D]
  };
  at::Tensor scores = at::matmul(heads(block.q(x)), heads(block.k(x)).transpose(2, 3));
  scores = scores.to(at::kFloat) +
           at::embedding(block.distance_bias, buckets).permute({2, 0, 1}).to(at::kFloat);
  if (hidden.defined()) scores = scores.masked_fill(hidden, std::numeric_limits<float>::lowest());
  const at::Tensor shares = at::softmax(scores, -1).to(x.scalar_type());
  return block.o(at::matmul(shares, heads(block.v(x))).transpose(1, 2).flatten(2));
}

at::Tensor TextNetwork::operator()(const at::Tensor& ids, const at::Tensor& mask,
                                   at::ScalarType type) const {
  LOCI_CHECK(ids.dim() == 2, "token ids have {} dimensions, expected [B, L]", ids.dim());
  at::Tensor x = at::embedding(embedding, ids).to(type);
  const at::Tensor buckets = distance_buckets(ids.size(1), config, ids.device());
  const at::Tensor hidden =
      mask.defined() ? (mask == 0).view({ids.size(0), 1, 1, ids.size(1)}) : mask;
  for (const Block& block : blocks) {
    x = x + attend(block, block.attention_norm(x), buckets, hidden);
    const at::Tensor h = block.feed_forward_norm(x);
    x = x + block.out(block.in(h)*kernels::gelu(block.gate(h)));
  }
  return final_norm(x);
}

std::string text_name_from_wan(const std::string& name) {
  if (name == "token_embedding.weight") return "shared.weight";
  if (name == "norm.weight") return "encoder.final_layer_norm.weight";
  const std::vector<std::string_view> parts = split(name, '.');
  if (parts.size() < 4 || parts[0] != "blocks") return name;
  const std::string block = fmt::format("encoder.block.{}.layer", parts[1]);
  static const std::map<std::string_view, std::string_view> kLayers = {
      {"attn.q.weight", "0.SelfAttention.q.weight"},
      {"attn.k.weight", "0.SelfAttention.k.weight"},
      {"attn.v.weight", "0.SelfAttention.v.weight"},
      {"attn.o.weight", "0.SelfAttention.o.weight"},
      {"pos_embedding.embedding.weight", "0.SelfAttention.relative_attention_bias.weight"},
      {"norm1.weight", "0.layer_norm.weight"},
      {"ffn.gate.0.weight", "1.DenseReluDense.wi_0.weight"},
      {"ffn.fc1.weight", "1.DenseReluDense.wi_1.weight"},
      {"ffn.fc2.weight", "1.DenseReluDense.wo.weight"},
      {"norm2.weight", "1.layer_norm.weight"}};
  const auto found = kLayers.find(std::string_view(name).substr(7 + parts[1].size() + 1));
  return found == kLayers.end() ? name : fmt::format("{}.{}", block, found->second);
}

TextConfig find_text_config(const fs::path& path) {
  const bool folder = fs::is_directory(path);
  const fs::path file = (folder ? path : path.parent_path()) / "config.json";
  if (fs::exists(file)) {
    const Json json = load_json(file);
    if (json.is_object() && json.contains("d_kv"))
      return TextConfig::from_json(json, file.string());
  }
  if (folder) {
    fail(
        "{} has no config.json of a umT5 encoder; give the text encoder's folder or its weights "
        "file",
        path.string());
  }
  return TextConfig();
}

TextEncoder::TextEncoder(const TextConfig& config, std::unique_ptr<Parameters> parameters,
                         at::ScalarType compute)
    : parameters_(std::move(parameters)),
      network_(std::make_unique<TextNetwork>(Scope(*parameters_), config)),
      compute_(compute) {}

TextEncoder::TextEncoder(const TextConfig& config) : TextEncoder(config, Options()) {}

TextEncoder::TextEncoder(const TextConfig& config, const Options& options)
    : TextEncoder(config,
                  std::make_unique<Parameters>(
                      Parameters::Options{.dtype = options.dtype, .seed = options.seed}),
                  options.compute) {}

TextEncoder TextEncoder::load(const fs::path& path) { return load(path, Options()); }

TextEncoder TextEncoder::load(const fs::path& path, const Options& options) {
  return load(find_text_config(path), path, options);
}

TextEncoder TextEncoder::load(const TextConfig& config, const fs::path& weights,
                              const Options& options) {
  return load(config, io::Checkpoint::open(weights), options);
}

TextEncoder TextEncoder::load(const TextConfig& config, const io::Checkpoint& checkpoint,
                              const Options& options) {
  std::map<std::string, std::string> stored;  // parameter name → name in the file
  std::vector<std::string> available;
  at::ScalarType dtype = options.dtype;
  for (const io::TensorInfo& info : checkpoint.tensors()) {
    std::string name = text_name_from_wan(info.name);
    // The embedding table has two names in Hugging Face's files; either may be missing.
    if (name == "encoder.embed_tokens.weight") name = "shared.weight";
    if (options.as_stored && name == "shared.weight") dtype = info.dtype;
    if (stored.emplace(name, info.name).second) available.push_back(name);
  }
  const auto find = [&](const std::string& name, bool sketch) {
    const auto found = stored.find(name);
    if (found == stored.end()) return at::Tensor();
    return sketch ? checkpoint.meta(found->second) : checkpoint.tensor(found->second);
  };
  {
    // Checked on meta tensors first, so that weights that do not fit are rejected before memory is
    // allocated.
    const auto shape = [&](const std::string& name) { return find(name, true); };
    const TextEncoder sketch(
        config,
        std::make_unique<Parameters>(Parameters::Options{.device = at::kMeta, .seed = 0}, shape),
        options.compute);
    const LoadReport report = sketch.parameters().report(available);
    if (!report.clean()) {
      fail("{} does not fit the text encoder's config: {}", checkpoint.path().string(),
           report.text());
    }
  }
  const auto tensor = [&](const std::string& name) { return find(name, false); };
  TextEncoder encoder(config,
                      std::make_unique<Parameters>(
                          Parameters::Options{.dtype = dtype, .seed = options.seed}, tensor),
                      options.compute);
  encoder.parameters_->release_source();
  return encoder;
}

at::Tensor TextEncoder::encode(std::span<const int64_t> ids) const {
  const int64_t vocabulary = config().vocab_size;
  for (const int64_t id : ids) {
    if (id < 0 || id >= vocabulary) {
      fail(
          "the tokenizer returns token {}, but the text encoder has {}; they belong to different "
          "models",
          id, vocabulary);
    }
  }
  if (ids.empty()) return at::zeros({0, config().d_model}, at::kFloat);
  const at::Tensor row = at::tensor(std::vector<int64_t>(ids.begin(), ids.end()), at::kLong);
  return forward(row.unsqueeze(0), {}).squeeze(0).to(at::kFloat);
}

}  // namespace loci::model
