// SPDX-License-Identifier: Apache-2.0
// Computes the outputs of each kind of golden case with the engine.
#include <array>
#include <numeric>

#include <ATen/ATen.h>

#include "loci/eval/golden/golden_case.h"
#include "loci/kernels/elementwise/head_map.h"
#include "loci/memory/history/history_planner.h"
#include "loci/memory/recurrent/recurrent_registry.h"
#include "loci/model/autoencoder/vae.h"
#include "loci/model/text/text_encoder.h"
#include "loci/sample/stream/cached_transformer.h"

namespace loci::eval {

namespace {

// First frames of the chunks of a window: 0, 1, 1 + size, …
std::vector<int64_t> chunk_starts(const std::vector<model::ChunkSpan>& chunks) {
  std::vector<int64_t> starts;
  for (const model::ChunkSpan& chunk : chunks) starts.push_back(chunk.begin);
  return starts;
}

std::vector<double> own_times(int64_t frames) {
  std::vector<double> times(frames);
  std::iota(times.begin(), times.end(), 0.0);
  return times;
}

camera::FrameGeometry window_geometry(const GoldenCase& golden,
                                      const model::TransformerConfig& config) {
  const camera::Trajectory trajectory = golden.trajectory();
  const auto frames = static_cast<int64_t>(trajectory.cameras.size());
  return camera::frame_geometry(camera::relative_to_first(trajectory.cameras),
                                chunk_starts(model::window_chunks(frames, config.chunk_size)),
                                golden.grid(config), config.kda_translation_scale);
}

memory::SparseOptions bank_options(const GoldenCase& golden) {
  const ConfigReader reader(golden.setting, golden.path.string() + ": loci.setting");
  memory::SparseOptions options;
  options.bank_frames = reader.get<int64_t>("bank_frames", options.bank_frames);
  options.recent_frames = reader.get<int64_t>("recent_frames", options.recent_frames);
  const auto size = reader.get<std::vector<int64_t>>("latent_size");
  options.aspect = static_cast<double>(size.at(1)) / static_cast<double>(size.at(0));
  return options;
}

}  // namespace

GoldenOutputs run_geometry(const GoldenCase& golden) {
  const model::TransformerConfig config = golden.transformer_config();
  const std::array<camera::FrameGeometry, 1> geometry = {window_geometry(golden, config)};
  const model::TokenMaps maps =
      model::make_token_maps(geometry, own_times(geometry[0].frames()), config.recurrent_mapping());
  const model::RecurrentMaps& recurrent = maps.recurrent.front();
  const at::Tensor x = golden.input("x").unsqueeze(0).to(golden.compute);
  const auto mapped = [&](const kernels::HeadMap& map) {
    return kernels::head_map(x, map).squeeze(0);
  };
  return {
      {"absolute_map", geometry[0].absolute},       {"rays", geometry[0].to_ray},
      {"projection", geometry[0].project},          {"projection_inverse", geometry[0].unproject},
      {"query", mapped(recurrent.query)},           {"key", mapped(recurrent.key)},
      {"value", mapped(recurrent.value)},           {"value_inverse", mapped(recurrent.output)},
      {"camera_query", mapped(maps.camera_query)},  {"camera_key", mapped(maps.camera_key)},
      {"camera_output", mapped(maps.camera_output)}};
}

GoldenOutputs run_delta_scan(const GoldenCase& golden) {
  const auto memory = memory::make_recurrent_memory("chunk_kda");
  const auto batched = [&](const char* name) { return golden.input(name).unsqueeze(0); };
  const at::Tensor state = memory->write(
      batched("state"),
      {batched("key"), batched("value"), batched("beta"), batched("log_retention").unsqueeze(1)},
      {});
  return {{"state", state.squeeze(0)}};
}

GoldenOutputs run_window(const GoldenCase& golden) {
  const at::NoGradGuard no_grad;
  const model::Transformer transformer = golden.transformer();
  const model::TransformerConfig& config = transformer.config();
  const std::array<camera::FrameGeometry, 1> geometry = {window_geometry(golden, config)};
  const model::TokenMaps maps =
      model::make_token_maps(geometry, own_times(geometry[0].frames()), config.recurrent_mapping());
  const model::TextKeys text = transformer.text_keys(golden.input("text").unsqueeze(0));
  model::ForwardContext context;
  context.visible.maps = &maps;
  context.visible.text = &text;
  context.visible.chunks = model::window_chunks(geometry[0].frames(), config.chunk_size);
  const at::Tensor velocity = transformer.forward(golden.input("latents").unsqueeze(0),
                                                  golden.input("timesteps").unsqueeze(0), context);
  std::vector<at::Tensor> states;
  for (const at::Tensor& state : context.memory.states) {
    if (state.defined()) states.push_back(state.squeeze(0));
  }
  return {{"velocity", velocity.squeeze(0)}, {"states", at::stack(states)}};
}

GoldenOutputs run_stream(const GoldenCase& golden) {
  const bool sparse = golden.kind == "stream_sparse";
  const model::Transformer transformer = golden.transformer();
  const model::TransformerConfig& config = transformer.config();
  const camera::Trajectory trajectory = golden.trajectory();
  const at::Tensor clean = golden.input("clean").unsqueeze(0);
  const at::Tensor noisy = golden.input("noisy").unsqueeze(0);
  const at::Tensor timesteps = golden.input("timesteps").unsqueeze(0);
  sample::CachedTransformer stream(
      transformer, golden.grid(config), transformer.text_keys(golden.input("text").unsqueeze(0)),
      sparse ? memory::make_sparse_history(bank_options(golden)) : memory::make_dense_history());
  std::vector<at::Tensor> velocities, states;
  for (const model::ChunkSpan& chunk : model::window_chunks(clean.size(2), config.chunk_size)) {
    const int64_t size = chunk.end - chunk.begin;
    stream.open_chunk(std::span(trajectory.cameras).subspan(chunk.begin, size));
    const auto frames = [&](const at::Tensor& x) { return x.narrow(2, chunk.begin, size); };
    at::Tensor committed = frames(clean);
    double commit_time = 0;
    if (chunk.begin > 0) {
      velocities.push_back(
          stream.velocity(frames(noisy), timesteps.narrow(1, chunk.begin, size)).squeeze(0));
      if (sparse) {
        commit_time = 100;
        committed = 0.9 * committed + 0.1 * frames(golden.input("commit_noise").unsqueeze(0));
      }
    }
    stream.commit(committed, at::full({1, size}, commit_time, at::kFloat));
    std::vector<at::Tensor> by_layer;
    for (const at::Tensor& state : stream.states()) {
      if (state.defined()) by_layer.push_back(state.squeeze(0));
    }
    states.push_back(at::stack(by_layer));
  }
  return {{"velocity", at::cat(velocities, 1)}, {"states", at::stack(states)}};
}

GoldenOutputs run_bank(const GoldenCase& golden) {
  const model::TransformerConfig config = golden.transformer_config();
  const camera::Trajectory trajectory = golden.trajectory();
  const std::vector<camera::Camera> cameras = camera::relative_to_first(trajectory.cameras);
  const auto frames = static_cast<int64_t>(cameras.size());
  GoldenOutputs outputs;
  for (const bool pinned : {false, true}) {
    memory::SparseOptions options = bank_options(golden);
    options.pin_anchors = pinned;
    memory::HistoryPlanner planner(memory::make_sparse_history(options));
    std::vector<int64_t> starts;
    std::vector<at::Tensor> retained, times;
    for (const model::ChunkSpan& chunk : model::window_chunks(frames, config.chunk_size)) {
      const int64_t size = chunk.end - chunk.begin;
      const memory::PlannedChunk planned =
          planner.plan(std::span(cameras).subspan(chunk.begin, size));
      planner.commit(planned.frames);
      if (chunk.begin == 0) continue;
      const std::vector<int64_t>& selected = planned.visible.frames;
      const std::vector<double>& key_times = planned.visible.key_times;
      const int64_t padding = planner.policy().frame_budget() - std::ssize(selected);
      starts.push_back(chunk.begin);
      retained.push_back(at::constant_pad_nd(at::tensor(selected, at::kLong), {0, padding}, -1));
      times.push_back(
          at::constant_pad_nd(at::tensor(key_times, at::kDouble).to(at::kLong), {0, padding}, -1));
    }
    outputs[pinned ? "frames_pinned" : "frames"] = at::stack(retained);
    if (!pinned) {
      outputs["times"] = at::stack(times);
      outputs["start"] = at::tensor(starts, at::kLong);
    }
  }
  return outputs;
}

GoldenOutputs run_vae(const GoldenCase& golden) {
  const at::NoGradGuard no_grad;
  const model::VaeConfig config =
      model::VaeConfig::from_json(golden.config, golden.path.string() + ": loci.config");
  const model::Vae vae = model::Vae::load(config, golden.weights(), {.dtype = golden.compute});
  const at::Tensor latent = vae.encode(golden.input("video").unsqueeze(0)).mean;
  // The decoder receives the expected latent, so that its error excludes that of the encoder.
  const at::Tensor video = vae.decode(golden.output("latent").unsqueeze(0));
  return {{"latent", latent.squeeze(0)}, {"video", video.squeeze(0)}};
}

GoldenOutputs run_text_encoder(const GoldenCase& golden) {
  const at::NoGradGuard no_grad;
  const model::TextConfig config =
      model::TextConfig::from_json(golden.config, golden.path.string() + ": loci.config");
  model::TextEncoder::Options options;
  options.compute = golden.compute;
  const model::TextEncoder encoder = model::TextEncoder::load(config, golden.weights(), options);
  const at::Tensor mask = golden.input("mask");
  const at::Tensor hidden =
      encoder.forward(golden.input("ids").unsqueeze(0), mask.unsqueeze(0)).squeeze(0);
  return {{"hidden",
           hidden.masked_select(mask.to(at::kBool).unsqueeze(-1)).view({-1, hidden.size(-1)})}};
}

}  // namespace loci::eval
