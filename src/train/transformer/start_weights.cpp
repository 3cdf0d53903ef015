// SPDX-License-Identifier: Apache-2.0
#include "loci/train/transformer/start_weights.h"

#include <algorithm>
#include <map>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/model/weights/weights.h"
#include "loci/train/transformer/grown_patches.h"

namespace loci::train {

void copy_start_weights(const std::filesystem::path& folder,
                        const std::vector<ParameterGroup>& without, const CaptionConfig& text,
                        const model::Transformer& transformer) {
  const at::NoGradGuard no_grad;
  const model::ModelFiles files = model::open_model(folder);
  if (!files.weights) fail("{} contains no weights to start from", folder.string());
  if (files.config.is_quantized()) {
    fail("{} is quantized to {}; start from the model from which it was quantized", folder.string(),
         files.config.quantization);
  }
  model::TransformerConfig stored = transformer.config();
  stored.patch = files.config.patch;
  stored.channels = files.config.channels;
  const PatchShape from{stored.patch, stored.channels};
  const PatchShape to{transformer.config().patch, transformer.config().channels};
  if (!can_grow(from, to)) {
    fail(
        "{}: its patches are {}x{} with {} channels, those of the configured model {}x{} with {}; "
        "start from a model with patches of the same size or a multiple of it, and with no more "
        "channels",
        folder.string(), from.patch, from.patch, from.channels, to.patch, to.patch, to.channels);
  }
  stored.linear_guess.clear();  // no weight, and measured for the new model's channels
  const model::LoadedModel loaded =
      model::load_model(stored, *files.weights,
                        {.dtype = at::kFloat,
                         .seed = transformer.parameters().options().seed,
                         .allow_missing = true,
                         .allow_unexpected = true});
  std::map<std::string, at::Tensor> values;
  for (const auto& [name, tensor] : loaded.transformer.parameters().all()) {
    values[name] = grown_for(name, tensor, from, to);
  }
  const std::filesystem::path encoder_folder = folder / "text_encoder";
  if (text.trained && std::filesystem::exists(encoder_folder / "config.json")) {
    const model::TextEncoder encoder = model::TextEncoder::load(encoder_folder, {});
    for (const auto& [name, tensor] : encoder.parameters().all()) {
      values[std::string(kTextEncoderPrefix) + name] = tensor;
    }
  }
  for (const auto& [name, tensor] : transformer.parameters().all()) {
    const auto found = values.find(name);
    const bool excluded = std::ranges::find(without, group_of(name)) != without.end();
    if (found == values.end() || excluded) continue;
    if (found->second.sizes() != tensor.sizes()) {
      fail("{}: {} is [{}]; the configured model has [{}]", folder.string(), name,
           fmt::join(found->second.sizes(), ", "), fmt::join(tensor.sizes(), ", "));
    }
    tensor.copy_(found->second);
  }
}

}  // namespace loci::train
