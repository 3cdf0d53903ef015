// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_refiner.h"

#include <ATen/ATen.h>

namespace loci::model {

Refiner::Refiner(const Scope& scope, const VaeConfig& config)
    : conv_in(scope["conv_in"], config.patch_channels(), config.refiner_dim, 3),
      conv_out(scope["conv_out"], config.refiner_dim, config.patch_channels(), 3, init::zeros),
      position(scope.parameter(
          "position",
          {1 + config.temporal_factor(), config.spatial_factor() / config.patch_size,
           config.spatial_factor() / config.patch_size, config.refiner_dim},
          init::zeros)),
      norm_out(scope["norm_out"], config.refiner_dim) {
  for (int64_t i = 0; i < config.refiner_blocks; ++i) {
    resnets.emplace_back(scope["resnets"][i], config.refiner_dim, config.refiner_dim);
  }
}

at::Tensor Refiner::correction(const at::Tensor& patches, const at::Tensor& place,
                               const VaePass& pass) const {
  at::Tensor x = add_to(conv_in(patches, pass), place);
  for (const ResidualBlock& resnet : resnets) x = resnet(std::move(x), pass);
  return conv_out(norm_out.silu(std::move(x)), pass);
}

at::Tensor Refiner::operator()(const at::Tensor& patches, const VaePass& pass) const {
  const int64_t frames = position.size(0) - 1, side = position.size(1);
  const int64_t latents = (patches.size(0) + frames - 1) / frames;
  at::Tensor place = position.narrow(0, 1, frames)
                         .repeat({latents, patches.size(2) / side, patches.size(3) / side, 1});
  if (pass.first()) {
    place = at::cat(
        {position.narrow(0, 0, 1).repeat({1, patches.size(2) / side, patches.size(3) / side, 1}),
         place});
  }
  place = place.narrow(0, 0, patches.size(0)).unsqueeze(1).to(patches.scalar_type());
  if (!pass.singly(patches, conv_in.out())) return correction(patches, place, pass);
  std::vector<at::Tensor> parts;
  for (int64_t t = 0; t < patches.size(0); ++t) {
    parts.push_back(correction(patches.narrow(0, t, 1), place.narrow(0, t, 1), pass));
  }
  return at::cat(parts);
}

}  // namespace loci::model
