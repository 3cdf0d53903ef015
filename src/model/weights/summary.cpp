// SPDX-License-Identifier: Apache-2.0
#include "loci/model/weights/summary.h"

#include <algorithm>
#include <memory>

#include "loci/memory/recurrent/recurrent_registry.h"
#include "loci/model/transformer/forward_context.h"
#include "loci/model/transformer/transformer.h"
#include "loci/model/weights/weight_names.h"

namespace loci::model {

ParameterCounts count_parameters(const TransformerConfig& config) {
  TransformerConfig plain = config;
  plain.quantization = "none";  // packed bytes and scales do not count
  const Transformer transformer(plain, std::make_shared<Parameters>(Parameters::Options{
                                           .dtype = at::kFloat, .device = at::kMeta}));
  ParameterCounts counts;
  for (const Parameter& parameter : transformer.parameters().all()) {
    const auto elements = static_cast<uint64_t>(parameter.tensor.numel());
    switch (part_of(parameter.name)) {
      case ModelPart::kBase:
        counts.base += elements;
        break;
      case ModelPart::kCamera:
        counts.camera += elements;
        break;
      case ModelPart::kRecurrent:
        counts.recurrent += elements;
        break;
    }
  }
  return counts;
}

std::string layer_letters(const TransformerConfig& config) {
  std::string letters;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    letters += config.is_hybrid(layer) ? 'R' : 'S';
  }
  return letters;
}

TransformerConfig full_softmax(const TransformerConfig& config) {
  TransformerConfig full = config;
  full.recurrent_memory = "none";
  return full;
}

HistoryBytes history_bytes(const TransformerConfig& config, const camera::TokenGrid& grid,
                           int64_t frames, at::ScalarType dtype) {
  const memory::KvLayout whole = kv_layout(config, /*batch=*/1, grid.tokens(), dtype);
  memory::KvLayout camera = whole;
  camera.main_layers.assign(camera.main_layers.size(), false);
  HistoryBytes bytes;
  bytes.camera = static_cast<uint64_t>(frames * camera.frame_bytes());
  bytes.main = static_cast<uint64_t>(frames * whole.frame_bytes()) - bytes.camera;
  if (const auto memory = memory::make_recurrent_memory(config.recurrent_memory)) {
    uint64_t elements = 1;
    for (const int64_t extent :
         memory->state_shape(1, config.recurrent_heads(), kHeadChannels, grid)) {
      elements *= static_cast<uint64_t>(extent);
    }
    const std::string letters = layer_letters(config);
    const auto layers = std::count(letters.begin(), letters.end(), 'R');
    bytes.state = elements * sizeof(float) * static_cast<uint64_t>(layers);
  }
  return bytes;
}

}  // namespace loci::model
