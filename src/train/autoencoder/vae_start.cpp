// SPDX-License-Identifier: Apache-2.0
#include "loci/train/autoencoder/vae_start.h"

#include <map>

#include <ATen/ATen.h>

namespace loci::train {

namespace {

// Whether a parameter belongs to the decoder network or its refiner, not to the transform.
bool is_decoder_network(const std::string& name) {
  return name.starts_with("decoder.") && name.find("_transform.") == std::string::npos;
}

}  // namespace

model::Vae initial_vae(const VaeRecipe& recipe) {
  if (recipe.start.empty()) return model::Vae(recipe.model, {.seed = recipe.loop.seed});
  model::Vae start = model::Vae::load(recipe.start);
  if (start.config().refiner_dim == recipe.model.refiner_dim &&
      start.config().z_dim == recipe.model.z_dim &&
      start.config().encoder_correction == recipe.model.encoder_correction && !recipe.new_decoder) {
    return start;
  }
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> tensors;
  const model::Vae grown(recipe.model, {.seed = recipe.loop.seed});
  for (const model::Parameter& each : grown.parameters().all()) tensors[each.name] = each.tensor;
  for (const model::Parameter& each : start.parameters().all()) {
    if (recipe.new_decoder && is_decoder_network(each.name)) continue;
    at::Tensor& to = tensors.at(each.name);
    if (to.sizes() == each.tensor.sizes()) {
      to = each.tensor;
      continue;
    }
    // Weights of new channels are zero, except that the layer between latents and decoder passes
    // them through.
    to = at::zeros_like(to);
    if (each.name == "post_quant_conv.weight") to.view({to.size(0), -1}).fill_diagonal_(1);
    at::Tensor corner = to;
    for (int64_t d = 0; d < to.dim(); ++d) corner = corner.narrow(d, 0, each.tensor.size(d));
    corner.copy_(each.tensor);
  }
  return model::Vae::from_tensors(recipe.model, tensors, recipe.start.string());
}

}  // namespace loci::train
