// SPDX-License-Identifier: Apache-2.0
#include "tests/model/tiny_model.h"

#include <array>
#include <numeric>

#include <ATen/CPUGeneratorImpl.h>

namespace loci::testing {

model::TransformerConfig tiny_config() {
  model::TransformerConfig config;
  config.heads = 1;
  config.layers = 2;
  config.channels = 3;
  config.ffn_dim = 64;
  config.text_dim = 16;
  config.text_len = 4;
  config.freq_dim = 32;
  config.chunk_size = 2;
  config.hybrid_layers = {1};
  config.camera_attn_compress = 1;
  return config;
}

model::Transformer random_transformer(const model::TransformerConfig& config, at::ScalarType dtype,
                                      uint64_t seed) {
  auto parameters =
      std::make_shared<model::Parameters>(model::Parameters::Options{.dtype = dtype, .seed = seed});
  model::Transformer transformer(config, parameters);
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  for (const model::Parameter& parameter : transformer.parameters().all()) {
    at::Tensor values = parameter.tensor;
    values.add_(0.05 * at::randn(values.sizes(), generator, values.options()));
  }
  return transformer;
}

TinyWindow tiny_window(const model::TransformerConfig& config, int64_t chunks, int64_t batch,
                       at::ScalarType dtype, uint64_t seed) {
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed + 100);
  TinyWindow w;
  w.chunks = model::window_chunks(1 + chunks * config.chunk_size, config.chunk_size);
  const int64_t frames = w.chunks.back().end;
  for (int64_t i = 0; i < frames; ++i) {
    const auto t = static_cast<double>(i);
    camera::Pose pose;
    pose.rotation = camera::rotation_from_angles(0.3 * t, 0.1 * std::sin(t));
    pose.position = {0.4 * t, 0.1 * std::cos(t), -0.2 * t};
    w.cameras.push_back({pose, {.fov_x = 1.4}});
  }
  w.grid = config.grid(4, 6);
  const auto options = at::TensorOptions(dtype);
  w.latents = at::randn({batch, config.channels, frames, 4, 6}, generator, options);
  w.timesteps = at::zeros({batch, frames}, options);
  for (const model::ChunkSpan& chunk : w.chunks) {
    const at::Tensor level = at::rand({batch, 1}, generator, options) * 900 + 50;
    if (chunk.begin > 0) w.timesteps.narrow(1, chunk.begin, chunk.end - chunk.begin).copy_(level);
  }
  w.text = at::randn({batch, 3, config.text_dim}, generator, options);
  std::vector<int64_t> starts;
  for (const model::ChunkSpan& chunk : w.chunks) starts.push_back(chunk.begin);
  const std::array<camera::FrameGeometry, 1> geometry = {camera::frame_geometry(
      camera::relative_to_first(w.cameras), starts, w.grid, config.kda_translation_scale)};
  std::vector<double> times(frames);
  std::iota(times.begin(), times.end(), 0.0);
  w.maps = model::make_token_maps(geometry, times, config.recurrent_mapping());
  return w;
}

at::Tensor window_velocity(const model::Transformer& transformer, const TinyWindow& window,
                           std::vector<at::Tensor>* states) {
  const model::TextKeys text = transformer.text_keys(window.text);
  model::ForwardContext context;
  context.visible.maps = &window.maps;
  context.visible.text = &text;
  context.visible.chunks = window.chunks;
  at::Tensor velocity = transformer.forward(window.latents, window.timesteps, context);
  if (states != nullptr) *states = context.memory.states;
  return velocity;
}

double relative_error(const at::Tensor& got, const at::Tensor& expected) {
  const at::Tensor wanted = expected.to(at::kDouble);
  return ((got.to(at::kDouble) - wanted).abs().max() / wanted.std()).item<double>();
}

}  // namespace loci::testing
