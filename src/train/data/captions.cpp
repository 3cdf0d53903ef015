// SPDX-License-Identifier: Apache-2.0
#include "loci/train/data/captions.h"

#include <map>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/model/text/text_clean.h"
#include "loci/model/text/text_prompts.h"
#include "loci/model/text/tokenizer.h"

namespace loci::train {

namespace {

class NoCaptions : public CaptionEncoder {
 public:
  explicit NoCaptions(int64_t text_dim) : zero_(at::zeros({1, 1, text_dim}, at::kFloat)) {}
  at::Tensor encode(const std::string&) const override { return zero_; }

 private:
  at::Tensor zero_;
};

class TrainedCaptions : public CaptionEncoder {
 public:
  TrainedCaptions(const model::TextConfig& config, model::Parameters& parameters, int64_t text_len)
      : network_(model::Scope(parameters)["text_encoder"], config),
        text_len_(text_len),
        device_(parameters.options().device) {}

  at::Tensor encode(const std::string& caption) const override {
    const std::vector<int64_t> ids = tokenizer_.encode(model::clean_prompt(caption), text_len_);
    return network_(at::tensor(ids, at::kLong).unsqueeze(0).to(device_), {}, at::kFloat);
  }

 private:
  model::ByteTokenizer tokenizer_;
  model::TextNetwork network_;
  int64_t text_len_;
  at::Device device_;
};

class PretrainedCaptions : public CaptionEncoder {
 public:
  PretrainedCaptions(const CaptionConfig& config, int64_t text_len,
                     std::vector<std::string> texts) {
    model::PromptOptions options = model::find_prompt_files(config.model);
    options.cache = config.cache;
    options.text_len = text_len;
    texts.emplace_back();  // the text of dropped captions
    const std::vector<at::Tensor> embeddings = model::encode_prompts(texts, options);
    for (size_t i = 0; i < texts.size(); ++i) known_[texts[i]] = embeddings[i].unsqueeze(0);
  }

  at::Tensor encode(const std::string& caption) const override { return known_.at(caption); }

 private:
  std::map<std::string, at::Tensor> known_;
};

}  // namespace

CaptionConfig CaptionConfig::from(const ConfigReader& reader) {
  CaptionConfig config;
  config.model = reader.get<std::string>("model", "");
  config.cache = reader.get<std::string>("cache", "");
  config.dropout = reader.get<double>("dropout", config.dropout, 0.0, 1.0);
  reader.ignore({"encoder"});  // checked by TextConfig
  if (reader.has("encoder")) {
    if (!config.model.empty()) {
      fail("{}: set either encoder (trained with the model) or model (pretrained), not both",
           reader.where());
    }
    config.trained =
        model::TextConfig::from_json(reader.json()["encoder"], reader.where() + ": encoder");
  }
  return config;
}

std::unique_ptr<CaptionEncoder> make_caption_encoder(const CaptionConfig& config,
                                                     const model::TransformerConfig& model,
                                                     model::Parameters& parameters,
                                                     const std::vector<std::string>& captions) {
  if (config.trained) {
    if (config.trained->d_model != model.text_dim) {
      fail("text.encoder.d_model is {}, but the model's text_dim is {}; make them equal",
           config.trained->d_model, model.text_dim);
    }
    if (config.trained->vocab_size != model::ByteTokenizer().vocabulary()) {
      fail("text.encoder.vocab_size is {}; a byte-level encoder needs {}",
           config.trained->vocab_size, model::ByteTokenizer().vocabulary());
    }
    return std::make_unique<TrainedCaptions>(*config.trained, parameters, model.text_len);
  }
  if (!config.model.empty()) {
    return std::make_unique<PretrainedCaptions>(config, model.text_len, captions);
  }
  return std::make_unique<NoCaptions>(model.text_dim);
}

}  // namespace loci::train
