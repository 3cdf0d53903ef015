// SPDX-License-Identifier: Apache-2.0
// Golden cases of Astronex-World.
#include <array>
#include <numeric>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/camera/lens.h"
#include "loci/camera/path/step_keys.h"
#include "loci/camera/view_overlap.h"
#include "loci/eval/golden/system_case.h"
#include "loci/kernels/elementwise/head_map.h"
#include "loci/model/transformer/model_maps.h"
#include "loci/sample/colour_smoothing.h"
#include "loci/sample/solvers/solver.h"

namespace loci::eval {

namespace {

// [F, C, h, w] → [1, C, F, h, w] and back.
at::Tensor batched(const at::Tensor& frames) { return frames.transpose(0, 1).unsqueeze(0); }
at::Tensor by_frame(const at::Tensor& latents) { return latents.squeeze(0).transpose(0, 1); }

ConfigReader reader_of(const GoldenCase& golden) {
  return {golden.config, golden.path.string() + ": loci.config"};
}

memory::FrustumOptions frustum_options(const GoldenCase& golden) {
  const ConfigReader reader = reader_of(golden);
  memory::FrustumOptions options;
  options.chunk_frames = reader.get<int64_t>("num_frame_per_block");
  options.sink_frames = reader.get<int64_t>("sink_size");
  options.recent_frames = reader.get<int64_t>("retrieval_recent_frames");
  options.retrieved_frames = reader.get<int64_t>("local_attn_size") - options.chunk_frames -
                             options.sink_frames - options.recent_frames;
  options.swapped_frames = reader.get<int64_t>("retrieval_swap_per_block");
  options.least_overlap = reader.get<double>("retrieval_min_overlap");
  return options;
}

std::unique_ptr<memory::HistoryPolicy> policy_of(const GoldenCase& golden) {
  const memory::FrustumOptions options = frustum_options(golden);
  if (reader_of(golden).get<bool>("retrieval_window")) return make_frustum_history(options);
  return memory::make_window_history(
      {.sink_frames = options.sink_frames,
       .recent_frames = options.recent_frames + options.retrieved_frames});
}

// The model of a case and its cameras.
struct Astronex {
  model::TransformerConfig config;
  std::vector<camera::Camera> cameras;

  explicit Astronex(const GoldenCase& golden) {
    const ConfigReader reader = reader_of(golden);
    const auto actions = reader.get<int64_t>("action_dim", 0);
    config = system_config(
        golden, "astronex",
        {{"chunk_size", reader.get<int64_t>("num_frame_per_block")},
         {"projection", Json::object()},
         {"action_dim", actions},
         {"embodiments", actions > 0 ? reader.get<int64_t>("num_embodiments") : 0},
         {"first_value_scale",
          reader.get<bool>("reference", false) ? reader.get<double>("ref_cond_scale") : 1.0}});
    cameras = cameras_of(golden.input("viewmats"), golden.input("Ks"), /*world_to_camera=*/true);
  }

  camera::TokenGrid grid(const GoldenCase& golden) const {
    const auto size = reader_of(golden).get<std::vector<int64_t>>("latent_size");
    if (size.size() != 2) fail("{}: latent_size must be [height, width]", golden.path.string());
    return config.grid(size[0], size[1]);
  }
  sample::CachedTransformer stream(const GoldenCase& golden, const model::Transformer& transformer,
                                   const char* text) const {
    return {transformer, grid(golden), transformer.text_keys(golden.input(text).unsqueeze(0)),
            policy_of(golden)};
  }
};

}  // namespace

GoldenOutputs run_astronex_camera(const GoldenCase& golden) {
  const ConfigReader reader = reader_of(golden);
  const at::Tensor pinholes = golden.input("Ks");
  std::vector<camera::Camera> cameras =
      cameras_of(golden.input("viewmats"), pinholes, /*world_to_camera=*/true);
  // Relative to the anchor.
  const camera::Pose anchor = cameras.at(reader.get<int64_t>("anchor")).pose.inverse();
  for (camera::Camera& camera : cameras) camera.pose = anchor * camera.pose;
  const camera::FrameProjections p = camera::frame_projections(cameras, 1, {});
  camera::ProjectionOptions identity;
  identity.focal = {1, 1};
  const at::Tensor x = golden.input("x");  // [F, T, H, D]
  const auto mapped = [&](const at::Tensor& matrices) {
    const at::Tensor tokens = x.flatten(0, 1).unsqueeze(0).to(golden.compute);
    return kernels::head_map(tokens, model::projection_map(matrices.contiguous(), x.size(1), 1))
        .view(x.sizes());
  };
  camera::StepKeys keys;
  keys.step = reader.get<double>("step");
  keys.turn = camera::radians(reader.get<double>("degrees"));
  std::vector<camera::Camera> path = camera::with_lens(
      camera::step_key_poses(reader.get<std::string>("trajectory"), keys), camera::Lens());
  return {{"anchored", camera::frame_projections(cameras, 1, identity).project},
          {"P", p.project},
          {"P_inv", p.unproject},
          {"query", mapped(p.project.transpose(1, 2))},
          {"key", mapped(p.unproject)},
          {"output", mapped(p.project)},
          {"trajectory", camera::frame_projections(path, 1, identity).project}};
}

GoldenOutputs run_astronex_retrieval(const GoldenCase& golden) {
  const ConfigReader reader = reader_of(golden);
  const memory::FrustumOptions options = frustum_options(golden);
  const auto window = reader.get<int64_t>("local_attn_size");
  const std::vector<camera::Camera> cameras =
      cameras_of(golden.input("viewmats"), golden.input("Ks"), /*world_to_camera=*/true);
  memory::HistoryPlanner planner(policy_of(golden));
  std::vector<at::Tensor> windows;
  const int64_t size = options.chunk_frames, frames = std::ssize(cameras);
  const at::Tensor overlap = at::full({frames / size, frames}, -1, at::kFloat);
  for (int64_t begin = 0; begin < frames; begin += size) {
    const std::vector<int64_t> stored = planner.policy().retained();
    const int64_t body = std::ssize(stored) - options.sink_frames;
    if (body > options.recent_frames + options.retrieved_frames) {
      for (int64_t i = options.sink_frames; i + options.recent_frames < std::ssize(stored); ++i) {
        overlap[begin / size][stored[i]] =
            camera::view_overlap(cameras[begin + size - 1], cameras[stored[i]], 1);
      }
    }
    const memory::PlannedChunk planned = planner.plan(std::span(cameras).subspan(begin, size));
    std::vector<int64_t> slots = planned.visible.frames;
    for (int64_t i = 0; i < size; ++i) slots.push_back(begin + i);
    windows.push_back(padded_row(slots, window));
    planner.commit(planned.frames);
  }
  return {{"window", at::stack(windows)}, {"overlap", overlap}};
}

GoldenOutputs run_astronex_forward(const GoldenCase& golden) {
  const Astronex astronex(golden);
  const model::Transformer transformer = system_model(golden, astronex.config);
  sample::CachedTransformer stream = astronex.stream(golden, transformer, "text");
  stream.open_chunk(astronex.cameras);
  return {{"velocity", by_frame(stream.velocity(batched(golden.input("latents")),
                                                golden.input("timesteps").unsqueeze(0)))}};
}

// Several noise levels per chunk, for both prompts, then the commit.
GoldenOutputs run_astronex_stream(const GoldenCase& golden) {
  const Astronex astronex(golden);
  const model::Transformer transformer = system_model(golden, astronex.config);
  const at::Tensor clean = batched(golden.input("clean"));
  const at::Tensor noisy = golden.input("noisy"), timesteps = golden.input("timesteps");
  const int64_t size = astronex.config.chunk_size, levels = noisy.size(0);
  const auto window = reader_of(golden).get<int64_t>("local_attn_size");
  GoldenOutputs outputs;
  for (const bool negative : {false, true}) {
    sample::CachedTransformer stream =
        astronex.stream(golden, transformer, negative ? "negative_text" : "text");
    std::vector<std::vector<at::Tensor>> velocities(static_cast<size_t>(levels));
    std::vector<at::Tensor> windows;
    for (int64_t begin = 0; begin < clean.size(2); begin += size) {
      stream.open_chunk(std::span(astronex.cameras).subspan(begin, size));
      std::vector<int64_t> slots = stream.visible();
      for (int64_t i = 0; i < size; ++i) slots.push_back(begin + i);
      windows.push_back(padded_row(slots, window));
      for (int64_t level = 0; level < levels; ++level) {
        velocities[static_cast<size_t>(level)].push_back(
            by_frame(stream.velocity(batched(noisy[level].narrow(0, begin, size)),
                                     timesteps[level].narrow(0, begin, size).unsqueeze(0))));
      }
      stream.commit(clean.narrow(2, begin, size), at::zeros({1, size}, at::kFloat));
    }
    std::vector<at::Tensor> all;
    for (const std::vector<at::Tensor>& each : velocities) all.push_back(at::cat(each));
    outputs[negative ? "negative_velocity" : "velocity"] = at::stack(all);
    outputs["window"] = at::stack(windows);
  }
  return outputs;
}

GoldenOutputs run_astronex_action(const GoldenCase& golden) {
  const Astronex astronex(golden);
  const model::Transformer transformer = system_model(golden, astronex.config);
  const at::Tensor clean = batched(golden.input("clean")), noisy = batched(golden.input("noisy"));
  const at::Tensor timesteps = golden.input("timesteps").unsqueeze(0);
  const at::Tensor actions = golden.input("actions").unsqueeze(0);
  const int64_t size = astronex.config.chunk_size;
  GoldenOutputs outputs;
  for (const char* name : {"velocity", "velocity_without_embodiment", "velocity_without_actions"}) {
    const std::string kind = name;
    sample::CachedTransformer stream = astronex.stream(golden, transformer, "text");
    std::vector<at::Tensor> velocities;
    for (int64_t begin = 0; begin < clean.size(2); begin += size) {
      stream.open_chunk(std::span(astronex.cameras).subspan(begin, size));
      if (kind != "velocity_without_actions") {
        stream.set_actions(actions.narrow(1, begin, size),
                           kind == "velocity" ? golden.input("embodiment") : at::Tensor());
      }
      velocities.push_back(by_frame(
          stream.velocity(noisy.narrow(2, begin, size), timesteps.narrow(1, begin, size))));
      stream.commit(clean.narrow(2, begin, size), at::zeros({1, size}, at::kFloat));
    }
    outputs[kind] = at::cat(velocities);
  }
  return outputs;
}

GoldenOutputs run_astronex_sampler(const GoldenCase& golden) {
  const ConfigReader reader = reader_of(golden);
  const std::unique_ptr<sample::Solver> solver =
      sample::make_solver({.kind = reader.get<std::string>("solver"),
                           .steps = reader.get<int64_t>("steps"),
                           .shift = reader.get<double>("shift")});
  at::Tensor x = golden.input("noise");
  const at::Tensor velocity = golden.input("velocity");
  std::vector<int64_t> timesteps;
  std::vector<double> sigmas;
  std::vector<at::Tensor> latents;
  for (int64_t i = 0; i < solver->steps(); ++i) {
    timesteps.push_back(static_cast<int64_t>(solver->timestep(i)));
    sigmas.push_back(solver->level(i));
    x = solver->step(i, x, velocity[i]);
    latents.push_back(x);
  }
  sigmas.push_back(solver->level(solver->steps()));
  return {{"timesteps", at::tensor(timesteps, at::kLong)},
          {"sigmas", at::tensor(sigmas, at::kDouble).to(at::kFloat)},
          {"latents", at::stack(latents)}};
}

GoldenOutputs run_astronex_chroma(const GoldenCase& golden) {
  const at::Tensor video = golden.input("video");
  const at::Tensor correction = sample::colour_correction(video.mean({2, 3}));
  return {{"correction", correction},
          {"video", (video + correction.unsqueeze(-1).unsqueeze(-1)).clamp(0, 1)}};
}

}  // namespace loci::eval
