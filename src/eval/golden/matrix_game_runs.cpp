// SPDX-License-Identifier: Apache-2.0
// Golden cases of Matrix-Game 3.5.
#include <array>
#include <numeric>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/eval/golden/system_case.h"
#include "loci/kernels/elementwise/head_map.h"
#include "loci/memory/patches/context_frame.h"
#include "loci/memory/patches/patch_memory.h"
#include "loci/model/transformer/model_maps.h"
#include "loci/sample/solvers/solver.h"

namespace loci::eval {

namespace {

constexpr int64_t kPoses = 4;  // per latent

ConfigReader settings_of(const GoldenCase& golden) {
  return {golden.config, golden.path.string() + ": loci.config"};
}

// Normalised pinhole matrices [F, 3, 3] from fx, fy, cx, cy in pixels [F, 4]. The principal point
// becomes the centre, and the focal lengths are scaled with it. With `first_only` all frames have
// the first lens.
at::Tensor centred_pinholes(const at::Tensor& pixels, bool first_only) {
  const at::Tensor p = first_only ? pixels.narrow(0, 0, 1).expand(pixels.sizes()) : pixels;
  const at::Tensor wide = p.to(at::kDouble);
  at::Tensor k = at::zeros({p.size(0), 3, 3}, at::kDouble);
  k.select(1, 0).select(1, 0).copy_(wide.select(1, 0) / wide.select(1, 2) / 2);
  k.select(1, 1).select(1, 1).copy_(wide.select(1, 1) / wide.select(1, 3) / 2);
  k.select(1, 0).select(1, 2).fill_(0.5);
  k.select(1, 1).select(1, 2).fill_(0.5);
  k.select(1, 2).select(1, 2).fill_(1);
  return k;
}

// The model of a case. Pictures have one camera each.
struct MatrixGame {
  model::TransformerConfig config;
  std::vector<camera::Camera> cameras;
  camera::TokenGrid grid;

  explicit MatrixGame(const GoldenCase& golden) {
    const ConfigReader reader = settings_of(golden);
    const bool distilled = reader.get<std::string>("stage") == "distilled";
    config = system_config(
        golden, distilled ? "matrix-game" : "matrix-game-base",
        distilled ? Json{{"chunk_size", reader.get<int64_t>("chunk_size")}} : Json::object());
    config.projection.bf16_image.reset();
    cameras =
        cameras_of(golden.input("c2w"),
                   centred_pinholes(golden.input("intrinsics"),
                                    reader.get<std::string>("intrinsics_mode") == "first_frame"),
                   /*world_to_camera=*/false);
    grid = config.grid(reader.get<int64_t>("latent_height"), reader.get<int64_t>("latent_width"));
  }

  // The cameras of a latent: those of its four pictures; the first latent is one picture.
  std::vector<camera::Camera> of_latent(int64_t latent) const {
    if (latent == 0) return std::vector<camera::Camera>(kPoses, cameras.front());
    const auto first = cameras.begin() + (kPoses * (latent - 1) + 1);
    return {first, first + kPoses};
  }
  std::vector<camera::Camera> of_latents(int64_t first, int64_t count) const {
    std::vector<camera::Camera> all;
    for (int64_t latent = first; latent < first + count; ++latent) {
      const std::vector<camera::Camera> each = of_latent(latent);
      all.insert(all.end(), each.begin(), each.end());
    }
    return all;
  }
  // [B, N] whether the tokens of latents [B, C, F, h, w] have a value other than zero.
  at::Tensor filled_tokens(const at::Tensor& latents) const {
    const int64_t p = config.patch;
    return latents.ne(0)
        .any(1)
        .unflatten(3, {-1, p})
        .unflatten(2, {-1, p})
        .any(5)
        .any(3)
        .flatten(1);
  }
};

// One pass over [references][clean latent][memory][noisy latents], all attending to each other.
struct BasePass {
  at::Tensor latents;  // [1, C, frames, h, w]
  int64_t references = 0, memory = 0, noisy = 0;
  at::Tensor added;    // [N, width], of the references; undefined: none
  at::Tensor visible;  // [tokens of the references] bool
};

at::Tensor run_base(const MatrixGame& game, const model::Transformer& transformer,
                    const BasePass& pass, const at::Tensor& text, double timestep) {
  const int64_t frames = pass.latents.size(2), tokens = game.grid.tokens();
  std::vector<double> times = {0};
  std::vector<camera::Camera> cameras = game.of_latent(0);
  for (const int64_t count : {pass.memory, pass.noisy}) {
    for (int64_t i = 1; i <= count; ++i) times.push_back(static_cast<double>(i));
    const std::vector<camera::Camera> each = game.of_latents(1, count);
    cameras.insert(cameras.end(), each.begin(), each.end());
  }
  constexpr std::array<int64_t, 1> kStart = {0};
  model::TokenMaps maps = model::model_maps(game.config, cameras, kStart, times, game.grid);
  if (pass.references > 0) {
    // All tokens of a reference have one place, at a time before the first frame, and no camera.
    std::vector<double> before;
    for (int64_t r = 0; r < pass.references; ++r) before.push_back(static_cast<double>(-1 - r));
    camera::Camera none;
    none.lens.normalised = {1, 1, 0.5, 0.5};
    const std::vector<camera::Camera> identity(static_cast<size_t>(kPoses * pass.references), none);
    const model::TokenMaps places =
        model::model_maps(game.config, identity, kStart, before, {1, 1});
    const at::Tensor repeat = at::arange(pass.references).repeat_interleave(tokens);
    const auto join = [&](kernels::HeadMap& map, const kernels::HeadMap& front) {
      map = model::joined(std::array{model::selected(front, repeat), map});
    };
    join(maps.rotary, places.rotary);
    join(maps.projected->query, places.projected->query);
    join(maps.projected->key, places.projected->key);
    join(maps.projected->value, places.projected->value);
    join(maps.projected->output, places.projected->output);
    maps.frames = frames;
  }
  const model::TextKeys keys = transformer.text_keys(text.unsqueeze(0));
  model::ForwardContext context;
  context.visible.maps = &maps;
  context.visible.text = &keys;
  context.visible.chunks = model::even_chunks(frames, frames);
  const int64_t first_memory = pass.references + 1;
  at::Tensor hidden = at::zeros({frames * tokens}, at::kBool);
  if (pass.references > 0) {
    hidden.narrow(0, 0, pass.references * tokens).copy_(pass.visible.logical_not());
    at::Tensor added = at::zeros({frames * tokens, game.config.width()});
    added.narrow(0, 0, pass.references * tokens).copy_(pass.added);
    context.visible.added = added;
  }
  if (pass.memory > 0) {
    hidden.narrow(0, first_memory * tokens, pass.memory * tokens)
        .copy_(game.filled_tokens(pass.latents.narrow(2, first_memory, pass.memory))
                   .squeeze(0)
                   .logical_not());
  }
  context.visible.hidden = hidden;
  for (int64_t r = 0; r < pass.references; ++r) context.visible.frames_without_text.push_back(r);
  for (int64_t i = 0; i < pass.memory; ++i) {
    context.visible.frames_without_text.push_back(first_memory + i);
  }
  at::Tensor timesteps = at::zeros({1, frames});
  timesteps.narrow(1, frames - pass.noisy, pass.noisy).fill_(timestep);
  const at::NoGradGuard no_grad;
  return transformer.forward(pass.latents, timesteps, context)
      .narrow(2, frames - pass.noisy, pass.noisy)
      .squeeze(0);
}

}  // namespace

GoldenOutputs run_matrix_game_camera(const GoldenCase& golden) {
  const ConfigReader reader = settings_of(golden);
  const auto tokens = reader.get<int64_t>("tokens_per_frame");
  const std::array<double, 2> image = {reader.get<double>("image_width"),
                                       reader.get<double>("image_height")};
  const at::Tensor pixels = at::tensor({image[0], image[1], 1.0}, at::kDouble).view({1, 3, 1});
  const at::Tensor x = golden.input("x").transpose(0, 1).unsqueeze(0).to(golden.compute);
  GoldenOutputs outputs;
  for (const char* stage : {"distilled", "base"}) {
    const ConfigReader settings = reader.section(stage);
    const at::Tensor pinholes = centred_pinholes(
        golden.input("intrinsics"), settings.get<std::string>("intrinsics_mode") == "first_frame");
    const std::vector<camera::Camera> cameras =
        cameras_of(golden.input("c2w"), pinholes, /*world_to_camera=*/false);
    camera::ProjectionOptions options;
    options.cameras_per_latent = kPoses;
    const Json& scale = settings.json().at("trans_scale");
    options.logarithmic = scale.is_string();
    if (!options.logarithmic) options.translation_scale = scale.get<double>();
    const camera::FrameProjections p = camera::frame_projections(cameras, 1, options);
    options.bf16_image = image;
    const camera::FrameProjections rounded = camera::frame_projections(cameras, 1, options);
    const auto apart = [](const at::Tensor& matrices) {
      return matrices.unflatten(1, {kPoses, 4});
    };
    const auto mapped = [&](const at::Tensor& matrices) {
      const kernels::HeadMap map = model::projection_map(matrices.contiguous(), tokens, 2);
      return kernels::head_map(x, map).squeeze(0).transpose(0, 1);
    };
    const std::string prefix = std::string(stage) + ".";
    outputs[prefix + "K"] = pinholes * pixels;
    outputs[prefix + "P"] = apart(p.project);
    outputs[prefix + "P_inv"] = apart(p.unproject);
    outputs[prefix + "P_bf16"] = apart(rounded.project);
    outputs[prefix + "P_inv_bf16"] = apart(rounded.unproject);
    outputs[prefix + "q"] = mapped(apart(p.project).transpose(-1, -2).flatten(1, 2));
    outputs[prefix + "kv"] = mapped(p.unproject);
    outputs[prefix + "o"] = mapped(p.project);
    camera::ProjectionOptions identity;
    identity.focal = {1, 1};
    outputs["w2c"] = camera::frame_projections(cameras, 1, identity).project;
  }
  return outputs;
}

GoldenOutputs run_matrix_game_forward(const GoldenCase& golden) {
  const MatrixGame game(golden);
  const model::Transformer transformer = system_model(golden, game.config);
  const at::Tensor first = golden.input("first").unsqueeze(0);
  const at::Tensor mosaic = golden.input("mosaic").unsqueeze(0);
  const at::Tensor noisy = golden.input("noisy").unsqueeze(0), texts = golden.input("context");
  const double timestep = golden.input("timestep").item<double>();
  BasePass with{.latents = at::cat({first, mosaic, noisy}, 2),
                .memory = mosaic.size(2),
                .noisy = noisy.size(2)};
  BasePass without{.latents = at::cat({first, noisy}, 2), .noisy = noisy.size(2)};
  std::vector<at::Tensor> velocities;
  for (int64_t i = 0; i < texts.size(0); ++i) {
    velocities.push_back(run_base(game, transformer, with, texts[i], timestep));
  }
  // Dropping the holes is the same as hiding them.
  return {
      {"velocity_drop", at::stack(velocities)},
      {"velocity_mask", at::stack(velocities)},
      {"velocity_nomemory", run_base(game, transformer, without, texts[1], timestep).unsqueeze(0)}};
}

GoldenOutputs run_matrix_game_subject(const GoldenCase& golden) {
  const MatrixGame game(golden);
  const model::Transformer transformer = system_model(golden, game.config);
  const ConfigReader reader = settings_of(golden);
  const auto slot = reader.get<std::vector<int64_t>>("slot_grid");
  const auto start = reader.get<std::vector<int64_t>>("slot_start");
  const at::Tensor refs = golden.input("refs");  // [R, C, 1, h, w]
  const at::Tensor first = golden.input("first").unsqueeze(0);
  const at::Tensor mosaic = golden.input("mosaic").unsqueeze(0);
  const at::Tensor noisy = golden.input("noisy").unsqueeze(0);
  BasePass pass{.references = refs.size(0), .memory = mosaic.size(2), .noisy = noisy.size(2)};
  pass.latents = at::cat({refs.squeeze(2).transpose(0, 1).unsqueeze(0), first, mosaic, noisy}, 2);
  const std::vector<int64_t> shape = {refs.size(0), game.grid.rows, game.grid.columns};
  at::Tensor visible = at::zeros(shape, at::kBool);
  at::Tensor added = at::zeros({shape[0], shape[1], shape[2], game.config.width()});
  for (int64_t r = 0; r < shape[0]; ++r) {
    for (int64_t i = 0; i < slot.at(0); ++i) {
      for (int64_t j = 0; j < slot.at(1); ++j) {
        const int64_t row = start.at(0) + i, column = start.at(1) + j;
        visible[r][row][column] = true;
        added[r][row][column].copy_(golden.input("subject_ref_type_embedding")[0] +
                                    golden.input("subject_ref_index_embedding")[r] +
                                    golden.input("subject_ref_local_h_embedding")[i] +
                                    golden.input("subject_ref_local_w_embedding")[j]);
      }
    }
  }
  pass.visible = visible.flatten();
  pass.added = added.flatten(0, 2);
  return {{"velocity", run_base(game, transformer, pass, golden.input("context")[1],
                                golden.input("timestep").item<double>())}};
}

GoldenOutputs run_matrix_game_stream(const GoldenCase& golden) {
  const MatrixGame game(golden);
  const model::Transformer transformer = system_model(golden, game.config);
  const ConfigReader reader = settings_of(golden);
  const int64_t size = game.config.chunk_size;
  const auto chunks_per_block = reader.get<int64_t>("chunks_per_block");
  const auto guidance = reader.get<double>("cfg_scale");
  const int64_t past = 1 + (reader.get<int64_t>("context_chunks") - 1) * size;
  const at::Tensor first = golden.input("first").unsqueeze(0);
  const at::Tensor noisy = golden.input("noisy"), clean = golden.input("clean");
  const at::Tensor mosaic = golden.input("mosaic"), noise = golden.input("noise");
  const at::Tensor contexts = golden.input("context_latents"), renoise = golden.input("renoise");
  const at::Tensor timesteps = golden.input("timesteps").to(at::kDouble).contiguous();
  const at::Tensor sigmas = golden.input("sigmas").to(at::kDouble).contiguous();
  const double* t = timesteps.const_data_ptr<double>();
  const double* sigma = sigmas.const_data_ptr<double>();
  const int64_t chunks = noisy.size(0), steps = noisy.size(1);

  // Negative and positive prompt, teacher-forced, then both again for sampling.
  std::vector<std::unique_ptr<sample::CachedTransformer>> streams;
  for (int i = 0; i < 4; ++i) {
    const bool negative = i % 2 == 0;
    const at::Tensor text = negative ? golden.input("text_negative") : golden.input("text")[0];
    streams.push_back(std::make_unique<sample::CachedTransformer>(
        transformer, game.grid, transformer.text_keys(text.unsqueeze(0)),
        memory::make_window_history({.sink_frames = 0, .recent_frames = past})));
    streams.back()->open_chunk(game.of_latent(0));
    streams.back()->commit(first, at::zeros({1, 1}));
  }
  std::vector<at::Tensor> velocities, rows[6];
  std::vector<at::Tensor> latents = {first};
  std::vector<std::pair<int64_t, camera::Pose>> bank;  // generated latents, their second pose
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t begin = 1 + chunk * size;
    const std::vector<camera::Camera> cameras = game.of_latents(begin, size);
    const model::TextKeys text =
        transformer.text_keys(golden.input("text")[chunk / chunks_per_block].unsqueeze(0));
    sample::CachedTransformer::Context context;
    context.memory = mosaic[chunk].unsqueeze(0);
    std::vector<int64_t> visible;
    for (size_t i = 0; i < streams.size(); ++i) {
      if (i % 2 == 1) streams[i]->set_text(text);
      streams[i]->open_chunk(cameras);
      visible = streams[i]->visible();
    }
    if (chunk > 0) {
      std::vector<std::pair<int64_t, camera::Pose>> candidates;
      for (const auto& each : bank) {
        if (each.first != visible.front()) candidates.push_back(each);
      }
      context.index = memory::nearest_old_frame(candidates, camera::poses_of(cameras),
                                                reader.get<int64_t>("context_pose_pool_size"))
                          .value_or(0);
      context.cameras = game.of_latent(context.index);
      context.frame = contexts[chunk].unsqueeze(0);
    }
    for (const auto& stream : streams) stream->set_context(context);
    for (int64_t i = begin; i < begin + size; ++i) {
      bank.emplace_back(i, game.of_latent(i)[1].pose);
    }

    // The frames that the chunk sees, by number and by time.
    std::vector<int64_t> seen = {chunk > 0 ? context.index : -1};
    if (chunk == 0) seen.clear();
    seen.insert(seen.end(), visible.begin(), visible.end());
    std::vector<int64_t> own(static_cast<size_t>(size));
    std::iota(own.begin(), own.end(), begin);
    const auto in_time = [](std::vector<int64_t> frames) {
      for (int64_t& frame : frames) ++frame;
      return frames;
    };
    rows[0].push_back(padded_row(in_time(seen), 1 + past));
    rows[1].push_back(padded_row(seen, 1 + past));
    rows[2].push_back(padded_row(in_time(own), size));
    rows[3].push_back(padded_row(own, size));
    rows[4].push_back(at::tensor({chunk > 0 ? context.index + 1 : int64_t{-1}}, at::kLong));
    rows[5].push_back(at::tensor({chunk > 0 ? context.index : int64_t{-1}}, at::kLong));

    std::vector<at::Tensor> by_step;
    for (int64_t step = 0; step < steps; ++step) {
      const at::Tensor x = noisy[chunk][step].unsqueeze(0), times = at::full({1, size}, t[step]);
      by_step.push_back(at::stack(
          {streams[0]->velocity(x, times).squeeze(0), streams[1]->velocity(x, times).squeeze(0)}));
    }
    velocities.push_back(at::stack(by_step));
    at::Tensor x = noise[chunk].unsqueeze(0);
    for (int64_t step = 0; step < steps; ++step) {
      const at::Tensor times = at::full({1, size}, t[step]);
      const at::Tensor unwanted = streams[2]->velocity(x, times);
      const at::Tensor wanted = streams[3]->velocity(x, times);
      x = x - (unwanted + guidance * (wanted - unwanted)) * sigma[step];
      if (step + 1 == steps) break;
      x = x * (1 - sigma[step + 1]) + renoise[chunk][step].unsqueeze(0) * sigma[step + 1];
    }
    latents.push_back(x);
    const at::Tensor still = at::zeros({1, size});
    for (size_t i = 0; i < streams.size(); ++i) {
      streams[i]->commit(i < 2 ? clean[chunk].unsqueeze(0) : x, still);
    }
  }
  const auto table = [](const std::vector<at::Tensor>& each) {
    return at::stack(each).to(at::kInt);
  };
  return {{"velocity", at::stack(velocities)},
          {"latents", at::cat(latents, 2).squeeze(0)},
          {"cache_positions", table(rows[0])},
          {"cache_cameras", table(rows[1])},
          {"positions", table(rows[2])},
          {"cameras", table(rows[3])},
          {"context_position", table(rows[4]).squeeze(1)},
          {"context_camera", table(rows[5]).squeeze(1)}};
}

GoldenOutputs run_matrix_game_memory(const GoldenCase& golden) {
  const ConfigReader reader = settings_of(golden);
  const std::array<double, 2> image = {reader.get<double>("image_width"),
                                       reader.get<double>("image_height")};
  const at::Tensor depth = golden.input("depth"), latents = golden.input("latents");
  const auto chunk = reader.get<int64_t>("chunk_size"), chunks = reader.get<int64_t>("chunks");
  // The pinholes of queries, and those of stored frames, whose images count as one pixel larger.
  const auto query_pinhole = [&](const camera::Camera& camera) {
    const auto& k = *camera.lens.normalised;
    return std::array<double, 4>{k[0] * image[0], k[1] * image[1], image[0] / 2, image[1] / 2};
  };
  const auto stored_pinhole = [&](const camera::Camera& camera) {
    const auto k = query_pinhole(camera);
    return std::array<double, 4>{k[0] * image[0] / (image[0] + 1), k[1] * image[1] / (image[1] + 1),
                                 (image[0] - 1) / 2, (image[1] - 1) / 2};
  };
  const auto matrix = [](const std::array<double, 4>& k) {
    return at::tensor({k[0], 0.0, k[2], 0.0, k[1], k[3], 0.0, 0.0, 1.0}, at::kDouble).view({3, 3});
  };
  GoldenOutputs outputs;
  for (const bool distilled : {true, false}) {
    const ConfigReader stage = reader.section(distilled ? "distilled" : "base");
    const std::vector<camera::Camera> cameras =
        cameras_of(golden.input("c2w"), centred_pinholes(golden.input("intrinsics"), !distilled),
                   /*world_to_camera=*/false);
    memory::PatchOptions options;
    options.frames = reader.get<int64_t>("candidates");
    options.stride = reader.get<int64_t>("latent_stride");
    options.fill_share = stage.get<double>("fill_ratio");
    options.keep_farthest = stage.get<std::string>("z_preference") == "far";
    options.selection = distilled ? memory::PatchOptions::Selection::kCoverage
                                  : memory::PatchOptions::Selection::kPose;
    memory::PatchMemory memory(options);
    std::vector<at::Tensor> stored, asked;
    const auto store = [&](int64_t frame) {
      const camera::Camera& camera = cameras[static_cast<size_t>(frame)];
      memory.add({{camera.pose, stored_pinhole(camera)},
                  latents.select(1, frame).contiguous(),
                  depth[frame]});
      stored.push_back(matrix(stored_pinhole(camera)));
    };
    const auto ask = [&](int64_t frame, std::vector<at::Tensor>& candidates,
                         std::vector<at::Tensor>& mosaics) {
      const camera::Camera& camera = cameras[static_cast<size_t>(frame)];
      const memory::PixelCamera query = {
          camera.pose, distilled ? query_pinhole(camera) : stored_pinhole(camera)};
      const std::vector<int64_t> chosen = memory.choose(query);
      candidates.push_back(at::tensor(chosen, at::kLong).to(at::kInt));
      mosaics.push_back(memory.fuse(chosen, query));
    };
    std::vector<at::Tensor> all_candidates, all_mosaics;
    if (distilled) {
      store(0);
      for (int64_t c = 0; c < chunks; ++c) {
        std::vector<at::Tensor> candidates, mosaics;
        const int64_t first = 1 + kPoses * chunk * c;
        for (int64_t g = 0; g < chunk; ++g) {
          ask(first + kPoses * g + kPoses - 1, candidates, mosaics);
        }
        all_candidates.push_back(at::stack(candidates));
        all_mosaics.push_back(at::stack(mosaics, 1));
        if (c + 1 == chunks) break;
        for (int64_t i = first; i < first + kPoses * chunk; ++i) store(i);
      }
      for (const camera::Camera& camera : cameras) asked.push_back(matrix(query_pinhole(camera)));
      outputs["distilled.candidates"] = at::stack(all_candidates);
      outputs["distilled.mosaic"] = at::stack(all_mosaics);
      outputs["distilled.K_memory"] = at::stack(stored);
      outputs["distilled.K_query"] = at::stack(asked);
      continue;
    }
    const auto frames = stage.get<int64_t>("memory_frames");
    for (int64_t i = 0; i < frames; ++i) store(i);
    for (int64_t i = frames + kPoses - 1; i < frames + stage.get<int64_t>("query_frames");
         i += kPoses) {
      ask(i, all_candidates, all_mosaics);
    }
    outputs["base.candidates"] = at::stack(all_candidates);
    outputs["base.mosaic"] = at::stack(all_mosaics, 1);
    outputs["base.K"] = stored.front();
  }
  return outputs;
}

}  // namespace loci::eval
