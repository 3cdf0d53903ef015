// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/block_transform.h"

#include <functional>

#include <ATen/ATen.h>

namespace loci::model {

namespace {

BlockTransform::Map make_map(const Scope& analysis, const Scope& synthesis, int64_t channels,
                             int64_t frames, int64_t side) {
  const int64_t numbers = 3 * frames * side * side;
  BlockTransform::Map map;
  map.frames = frames;
  map.analysis = analysis.parameter("weight", {channels, numbers}, init::fan_in(numbers));
  map.analysis_bias = analysis.parameter("bias", {channels}, init::zeros);
  map.synthesis = synthesis.parameter("weight", {numbers, channels}, init::fan_in(channels));
  map.synthesis_bias = synthesis.parameter("bias", {numbers}, init::zeros);
  return map;
}

// Applies one map to the first entry of `x` along `dim` and another to the rest; both may be empty.
at::Tensor in_two_parts(const at::Tensor& x, int64_t dim, int64_t joined, bool first,
                        const std::function<at::Tensor(const at::Tensor&)>& one,
                        const std::function<at::Tensor(const at::Tensor&)>& rest) {
  if (!first) return rest(x);
  const at::Tensor start = one(x.narrow(dim, 0, 1));
  if (x.size(dim) == 1) return start;
  return at::cat({start, rest(x.narrow(dim, 1, x.size(dim) - 1))}, joined);
}

}  // namespace

BlockTransform::BlockTransform(Parameters& parameters, const VaeConfig& config)
    : side(config.spatial_factor()) {
  const Scope encoder(parameters, "encoder"), decoder(parameters, "decoder");
  image = make_map(encoder["image_transform"], decoder["image_transform"], config.z_dim, 1, side);
  clip = make_map(encoder["clip_transform"], decoder["clip_transform"], config.z_dim,
                  config.temporal_factor(), side);
}

at::Tensor BlockTransform::blocks(const at::Tensor& pixels, int64_t frames, int64_t side) {
  const int64_t groups = pixels.size(2) / frames;
  const int64_t height = pixels.size(3) / side, width = pixels.size(4) / side;
  return pixels.reshape({pixels.size(0), 3, groups, frames, height, side, width, side})
      .permute({2, 0, 4, 6, 1, 3, 5, 7})
      .reshape({groups, pixels.size(0), height, width, 3 * frames * side * side});
}

at::Tensor BlockTransform::pixels(const at::Tensor& blocks, int64_t frames, int64_t side) {
  const int64_t groups = blocks.size(0), batch = blocks.size(1);
  const int64_t height = blocks.size(2), width = blocks.size(3);
  return blocks.reshape({groups, batch, height, width, 3, frames, side, side})
      .permute({1, 4, 0, 5, 2, 6, 3, 7})
      .reshape({batch, 3, groups * frames, height * side, width * side});
}

at::Tensor BlockTransform::encode(const at::Tensor& pixels, bool first) const {
  const auto by = [this](const Map& map) {
    return [this, &map](const at::Tensor& part) {
      return at::linear(blocks(part.to(at::kFloat), map.frames, side), map.analysis.to(at::kFloat),
                        map.analysis_bias.to(at::kFloat));
    };
  };
  return in_two_parts(pixels, 2, 0, first, by(image), by(clip));
}

at::Tensor BlockTransform::decode(const at::Tensor& latents, bool first) const {
  const auto by = [this](const Map& map) {
    return [this, &map](const at::Tensor& part) {
      return pixels(at::linear(part.to(at::kFloat), map.synthesis.to(at::kFloat),
                               map.synthesis_bias.to(at::kFloat)),
                    map.frames, side);
    };
  };
  return in_two_parts(latents, 0, 2, first, by(image), by(clip));
}

}  // namespace loci::model
