// SPDX-License-Identifier: Apache-2.0
// Text embeddings of window captions, from a pretrained encoder or from a small one that is trained
// with the transformer.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/model/text/text_encoder.h"
#include "loci/model/transformer/config.h"
#include "loci/model/weights/parameters.h"

namespace loci::train {

struct CaptionConfig {
  // Sizes of a byte-level encoder that is trained with the transformer, or else `model`.
  std::optional<model::TextConfig> trained;
  std::filesystem::path model;  // folder of a model with a pretrained encoder; empty: none
  std::filesystem::path cache;  // folder for the pretrained encoder's embeddings
  double dropout = 0.1;         // share of windows without their caption

  static CaptionConfig from(const ConfigReader& reader);
};

class CaptionEncoder {
 public:
  virtual ~CaptionEncoder() = default;
  // Returns [1, l, text_dim], where l is at most the model's text_len.
  virtual at::Tensor encode(const std::string& caption) const = 0;
};

// Adds the parameters of a trained encoder to `parameters` under "text_encoder.". A pretrained
// encoder encodes `captions` and the empty text immediately and is then released. With neither,
// every embedding is zero.
std::unique_ptr<CaptionEncoder> make_caption_encoder(const CaptionConfig& config,
                                                     const model::TransformerConfig& model,
                                                     model::Parameters& parameters,
                                                     const std::vector<std::string>& captions);

inline constexpr std::string_view kTextEncoderPrefix = "text_encoder.";

}  // namespace loci::train
