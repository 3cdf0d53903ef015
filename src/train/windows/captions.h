// SPDX-License-Identifier: Apache-2.0
// What a window's caption is for the transformer: embeddings of a pretrained encoder, or of a small
// one that is trained along.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/model/transformer/config.h"
#include "loci/model/weights/parameters.h"
#include "loci/model/text/text_encoder.h"

namespace loci::train {

struct CaptionConfig {
  std::optional<model::TextConfig> trained;  // sizes of an encoder of bytes that is trained along
  std::filesystem::path model;               // or: folder of a model with a pretrained encoder
  std::filesystem::path cache;               // of the pretrained encoder's embeddings
  double dropout = 0.1;                      // share of windows whose caption is left out

  static CaptionConfig from(const ConfigReader& reader);
};

class CaptionEncoder {
 public:
  virtual ~CaptionEncoder() = default;
  // [1, l, text_dim] with l at most the model's text_len.
  virtual at::Tensor encode(const std::string& caption) const = 0;
};

// Parameters of a trained encoder are added to `parameters` under "text_encoder.". A pretrained one
// encodes `captions` and the empty text now, and is released. Without either, every text is zero.
std::unique_ptr<CaptionEncoder> make_caption_encoder(const CaptionConfig& config,
                                                     const model::TransformerConfig& model,
                                                     model::Parameters& parameters,
                                                     const std::vector<std::string>& captions);

inline constexpr std::string_view kTextEncoderPrefix = "text_encoder.";

}  // namespace loci::train
