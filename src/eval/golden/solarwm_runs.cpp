// SPDX-License-Identifier: Apache-2.0
// Golden cases of SolarWM.
#include <array>
#include <numeric>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/camera/path/resample.h"
#include "loci/eval/golden/system_case.h"
#include "loci/kernels/elementwise/head_map.h"
#include "loci/model/transformer/model_maps.h"
#include "loci/sample/solvers/denoise.h"

namespace loci::eval {

namespace {

constexpr std::array<int64_t, 1> kOneChunk = {0};

// The model of a case, its cameras, and the number of past frames that a chunk attends to.
struct Solarwm {
  model::TransformerConfig config;
  std::vector<camera::Camera> cameras;
  int64_t past = 0;
  bool stage1 = false;

  explicit Solarwm(const GoldenCase& golden) {
    const ConfigReader reader(golden.config, golden.path.string() + ": loci.config");
    const auto chunk = reader.get<int64_t>("num_frame_per_block");
    stage1 = reader.get<std::string>("stage", "") == "stage1";
    Json settings = {{"chunk_size", chunk}, {"projection", Json::object()}};
    if (stage1) settings["target_time_gate"] = reader.get<double>("anyflow_gate");
    config = system_config(golden, stage1 ? "solarwm-anyflow" : "solarwm", settings);
    past = stage1 ? chunk * reader.get<int64_t>("max_prior_clean_chunks")
                  : reader.get<int64_t>("local_attn_size") - chunk;
    cameras = cameras_of(golden.input("c2w"), golden.input("K"), /*world_to_camera=*/false);
  }

  sample::CachedTransformer stream(const GoldenCase& golden,
                                   const model::Transformer& transformer) const {
    return {transformer, golden_grid(golden),
            transformer.text_keys(golden.input("text").unsqueeze(0)),
            memory::make_window_history({.sink_frames = 0, .recent_frames = past})};
  }

  camera::TokenGrid golden_grid(const GoldenCase& golden) const {
    const ConfigReader reader(golden.config, golden.path.string() + ": loci.config");
    const auto size = reader.get<std::vector<int64_t>>("latent_size");
    if (size.size() != 2) fail("{}: latent_size must be [height, width]", golden.path.string());
    return config.grid(size[0], size[1]);
  }
};

}  // namespace

GoldenOutputs run_solarwm_camera(const GoldenCase& golden) {
  const ConfigReader reader(golden.config, golden.path.string() + ": loci.config");
  const auto size = reader.get<std::vector<int64_t>>("grid");
  const camera::TokenGrid grid{size.at(0), size.at(1)};
  model::TransformerConfig config = model::TransformerConfig::from_json(
      {{"system", "solarwm"}, {"projection", Json::object()}}, reader.where());
  const camera::TimeGrid time = config.time_grid();
  const at::Tensor c2w = golden.input("c2w"), pinholes = golden.input("K");
  std::vector<int64_t> pixels;
  for (int64_t latent = 0; latent < time.latents_in_frames(c2w.size(0)); ++latent) {
    pixels.push_back(time.camera_frame(latent));
  }
  const auto frames = std::ssize(pixels);
  const at::Tensor index = at::tensor(pixels, at::kLong);
  const std::vector<camera::Camera> relative = camera::relative_to_first(
      cameras_of(c2w.index_select(0, index), pinholes, /*world_to_camera=*/false));
  std::vector<double> times(static_cast<size_t>(frames));
  std::iota(times.begin(), times.end(), 0.0);
  const model::TokenMaps maps = model::model_maps(config, relative, kOneChunk, times, grid);
  const camera::FrameProjections p = camera::frame_projections(relative, 1, config.projection);
  camera::ProjectionOptions identity;
  identity.focal = {1, 1};
  const at::Tensor x = golden.input("x").unsqueeze(0).to(golden.compute);
  const auto mapped = [&](const kernels::HeadMap& map) {
    return kernels::head_map(x, map).squeeze(0);
  };
  return {{"pixel_frames", index},
          {"viewmats", camera::frame_projections(relative, 1, identity).project},
          {"project", p.project},
          {"unproject", p.unproject},
          {"rotary", mapped(maps.rotary)},
          {"query", mapped(maps.projected->query)},
          {"key", mapped(maps.projected->key)},
          {"value", mapped(maps.projected->value)},
          {"output", mapped(maps.projected->output)}};
}

// Stage 0.5: all frames attend to each other.
GoldenOutputs run_solarwm_forward(const GoldenCase& golden) {
  const at::NoGradGuard no_grad;
  const Solarwm solarwm(golden);
  const model::Transformer transformer = system_model(golden, solarwm.config);
  const at::Tensor latents = golden.input("latents").unsqueeze(0);
  std::vector<double> times(static_cast<size_t>(latents.size(2)));
  std::iota(times.begin(), times.end(), 0.0);
  const model::TokenMaps maps =
      model::model_maps(solarwm.config, camera::relative_to_first(solarwm.cameras), kOneChunk,
                        times, solarwm.golden_grid(golden));
  const model::TextKeys text = transformer.text_keys(golden.input("text").unsqueeze(0));
  model::ForwardContext context;
  context.visible.maps = &maps;
  context.visible.text = &text;
  context.visible.chunks = model::even_chunks(latents.size(2), latents.size(2));
  return {
      {"velocity",
       transformer.forward(latents, golden.input("timesteps").unsqueeze(0), context).squeeze(0)}};
}

GoldenOutputs run_solarwm_stream(const GoldenCase& golden) {
  const Solarwm solarwm(golden);
  const model::Transformer transformer = system_model(golden, solarwm.config);
  sample::CachedTransformer stream = solarwm.stream(golden, transformer);
  const at::Tensor clean = golden.input("clean").unsqueeze(0);
  const at::Tensor noisy = golden.input("noisy").unsqueeze(0);
  const at::Tensor timesteps = golden.input("timesteps").unsqueeze(0);
  const int64_t size = solarwm.config.chunk_size;
  std::vector<at::Tensor> velocities, committed, frames, times;
  for (int64_t begin = 0; begin < clean.size(2); begin += size) {
    stream.open_chunk(std::span(solarwm.cameras).subspan(begin, size));
    const at::Tensor still = at::zeros({1, size}, at::kFloat);
    const at::Tensor latents = clean.narrow(2, begin, size);
    velocities.push_back(
        stream.velocity(noisy.narrow(2, begin, size), timesteps.narrow(1, begin, size)).squeeze(0));
    committed.push_back(stream.velocity(latents, still).squeeze(0));
    std::vector<int64_t> window = stream.visible();
    for (int64_t i = 0; i < size; ++i) window.push_back(begin + i);
    frames.push_back(padded_row(window, solarwm.past + size));
    std::iota(window.begin(), window.end(), int64_t{0});
    times.push_back(padded_row(window, solarwm.past + size));
    stream.commit(latents, still);
  }
  return {{"velocity", at::cat(velocities, 1)},
          {"commit_velocity", at::cat(committed, 1)},
          {"window_frames", at::stack(frames)},
          {"window_times", at::stack(times)}};
}

GoldenOutputs run_solarwm_sample(const GoldenCase& golden) {
  const Solarwm solarwm(golden);
  const model::Transformer transformer = system_model(golden, solarwm.config);
  sample::CachedTransformer stream = solarwm.stream(golden, transformer);
  const ConfigReader reader(golden.config, golden.path.string() + ": loci.config");
  sample::SolverOptions options;
  options.shift = reader.get<double>("timestep_shift");
  options.steps = std::ssize(reader.get<std::vector<double>>(solarwm.stage1 ? "t" : "steps"));
  options.kind = "euler";
  if (!solarwm.stage1) {
    options.kind =
        reader.get<std::string>("timestep_dtype") == "bfloat16" ? "renoise-bf16" : "renoise";
  }
  const at::Tensor noise = golden.input("noise").unsqueeze(0);
  const at::Tensor first = golden.input("first").unsqueeze(0).unsqueeze(2);
  const int64_t size = solarwm.config.chunk_size;
  std::vector<at::Tensor> latents;
  for (int64_t begin = 0; begin < noise.size(2); begin += size) {
    stream.open_chunk(std::span(solarwm.cameras).subspan(begin, size));
    const std::unique_ptr<sample::Solver> solver = sample::make_solver(options);
    if (!solarwm.stage1) {
      const at::Tensor fresh = golden.input("renoise").select(0, begin / size);
      solver->set_noise([fresh](int64_t step) { return fresh.select(0, step).unsqueeze(0); });
    }
    latents.push_back(sample::denoise(
        *solver, noise.narrow(2, begin, size), begin == 0 ? first : at::Tensor(),
        [&](const at::Tensor& x, const at::Tensor& times, const at::Tensor& targets) {
          return stream.velocity(x, times, {}, targets);
        }));
    stream.commit(latents.back(), at::zeros({1, size}, at::kFloat));
  }
  return {{"latents", at::cat(latents, 2).squeeze(0)}};
}

// Stage 1: the history of every chunk is computed again.
GoldenOutputs run_solarwm_window(const GoldenCase& golden) {
  const Solarwm solarwm(golden);
  const model::Transformer transformer = system_model(golden, solarwm.config);
  sample::CachedTransformer stream = solarwm.stream(golden, transformer);
  const at::Tensor clean = golden.input("clean").unsqueeze(0);
  const at::Tensor noisy = golden.input("noisy").unsqueeze(0);
  const at::Tensor times = golden.input("timesteps").unsqueeze(0);
  const at::Tensor targets = golden.input("target_timesteps").unsqueeze(0);
  const int64_t size = solarwm.config.chunk_size;
  std::vector<at::Tensor> velocities;
  for (int64_t begin = 0; begin < clean.size(2); begin += size) {
    stream.open_chunk(std::span(solarwm.cameras).subspan(begin, size));
    velocities.push_back(stream
                             .velocity(noisy.narrow(2, begin, size), times.narrow(1, begin, size),
                                       {}, targets.narrow(1, begin, size))
                             .squeeze(0));
    stream.commit(clean.narrow(2, begin, size), at::zeros({1, size}, at::kFloat));
  }
  return {{"velocity", at::cat(velocities, 1)}};
}

}  // namespace loci::eval
