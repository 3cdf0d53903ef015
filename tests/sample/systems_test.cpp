// SPDX-License-Identifier: Apache-2.0
// Published systems other than LOCI, in the folders that their authors publish.
#include "loci/model/weights/systems.h"

#include <unistd.h>

#include <filesystem>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/model/transformer/model_maps.h"
#include "loci/model/weights/weights.h"
#include "loci/sample/open_stream.h"
#include "loci/sample/solvers/denoise.h"

#include "tests/base/expect_error.h"
#include "tests/model/tiny_model.h"
#include "tests/sample/tiny_folder.h"

namespace loci::sample {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::relative_error;

constexpr int64_t kLatentRows = 4, kLatentColumns = 6;

std::vector<camera::Camera> walk(int64_t first, int64_t count) {
  std::vector<camera::Camera> cameras;
  for (int64_t i = first; i < first + count; ++i) {
    const auto t = static_cast<double>(i);
    cameras.push_back({{camera::rotation_from_angles(0.2 * t, 0.05), {0.1 * t, 0, 0.3 * t}}, {}});
  }
  return cameras;
}

at::Tensor latents(int64_t frames, int64_t channels = 3) {
  at::manual_seed(3);
  return at::randn({1, channels, frames, kLatentRows, kLatentColumns});
}

// A small model of a system, with the given sizes of a chunk and random weights.
model::Transformer random_model(const std::string& system, const Json& more = Json::object()) {
  Json json = {
      {"system", system}, {"num_attention_heads", 1}, {"num_layers", 2}, {"in_channels", 3},
      {"ffn_dim", 32},    {"text_dim", 16},           {"text_len", 4},   {"freq_dim", 32}};
  json.update(more);
  return testing::random_transformer(model::TransformerConfig::from_json(json, "test"));
}

StreamOptions options_of(const std::string& system) {
  const Json& generation = model::find_system(system)->generation;
  StreamOptions options;
  options.latent_height = kLatentRows;
  options.latent_width = kLatentColumns;
  options.history.kind = generation.at("history");
  options.history.set_budget(generation.at("history_frames"));
  options.history.sink = generation.at("sink_frames");
  options.solver = {generation.at("solver"), 2, generation.at("shift")};
  options.guidance = generation.value("guidance", 1.0);
  options.commit_level = generation.at("commit_level");
  options.seed = 5;
  return options;
}

class EverySystem : public ::testing::TestWithParam<std::string> {
 protected:
  fs::path file_ = testing::temporary_world("systems_" + GetParam());
  ~EverySystem() override { fs::remove(file_); }
};

std::vector<std::string> supported() {
  std::vector<std::string> names;
  for (const model::System& system : model::systems()) {
    if (system.streams) names.push_back(system.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Names, EverySystem, ::testing::ValuesIn(supported()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(EverySystem, ConfigSurvivesSaveAndLoad) {
  const model::Transformer model = random_model(GetParam());
  const Json json = model.config().to_json();
  EXPECT_EQ(model::TransformerConfig::from_json(json, "again").to_json(), json);
  EXPECT_EQ(model.config().system, GetParam());
}

// A stream generates the first chunk together with the given frame, and continues bit for bit from
// a file that was saved after any chunk.
TEST_P(EverySystem, StreamsAreSavedAndResumed) {
  const model::Transformer model = random_model(GetParam());
  const int64_t size = model.config().chunk_size;
  const bool joint = model.config().given_in_chunk;
  Stream stream(model, nullptr, options_of(GetParam()), {});
  stream.accept(latents(1), walk(0, 1));
  EXPECT_EQ(stream.next_size(), joint ? size - 1 : size);
  for (int chunk = 0; chunk < 7; ++chunk) {
    const int64_t first = stream.frames(), count = stream.next_size();
    stream.save(file_, {"a", ""});
    Stream resumed = Stream::load(file_, model, nullptr, {"a", ""});
    EXPECT_EQ(resumed.next_size(), count);
    const Chunk made = stream.push(walk(first, count));
    const Chunk again = resumed.push(walk(first, count));
    EXPECT_EQ(made.first, first);
    EXPECT_EQ(made.visible, again.visible);
    EXPECT_EQ(made.latents.size(2), count);
    EXPECT_TRUE(at::equal(made.latents, again.latents)) << "chunk " << chunk;
  }
  EXPECT_EQ(stream.frames(), 1 + 7 * size - (joint ? 1 : 0));
}

// A recording is committed as if the model had generated it.
TEST_P(EverySystem, ReplayedChunksLeaveTheSamePast) {
  const model::Transformer model = random_model(GetParam());
  Stream stream(model, nullptr, options_of(GetParam()), {});
  Stream replayed(model, nullptr, options_of(GetParam()), {});
  for (Stream* each : {&stream, &replayed}) each->accept(latents(1), walk(0, 1));
  for (int chunk = 0; chunk < 3; ++chunk) {
    const int64_t first = stream.frames(), count = stream.next_size();
    const Chunk made = stream.push(walk(first, count));
    replayed.replay(made.latents, walk(first, count));
  }
  const int64_t first = stream.frames(), count = stream.next_size();
  Stream fork = replayed.fork();
  const at::Tensor next = stream.push(walk(first, count)).latents;
  EXPECT_TRUE(at::equal(replayed.push(walk(first, count)).latents, next));
  EXPECT_TRUE(at::equal(fork.push(walk(first, count)).latents, next));
}

// The window of training and the stream use the same blocks.
TEST(Systems, AStreamEqualsTheForwardPassOfAWindow) {
  for (const std::string system : {"solarwm", "astronex"}) {
    const model::Transformer model =
        random_model(system, {{"chunk_size", 3}, {"first_value_scale", 1}});
    constexpr int64_t kFrames = 9;
    const at::Tensor clean = latents(kFrames);
    const model::TextKeys text = model.text_keys(at::zeros({1, 1, 16}));
    const std::vector<camera::Camera> cameras = walk(0, kFrames);
    std::vector<double> times(kFrames);
    for (int64_t i = 0; i < kFrames; ++i) times[static_cast<size_t>(i)] = static_cast<double>(i);
    model::ForwardContext context;
    context.visible.chunks = model::even_chunks(kFrames, 3);
    const std::vector<int64_t> starts = {0, 3, 6};
    const model::TokenMaps maps = model::model_maps(
        model.config(), camera::relative_to_first(cameras), starts, times, {2, 3});
    context.visible.maps = &maps;
    context.visible.text = &text;
    const at::NoGradGuard no_grad;
    const at::Tensor still = at::zeros({1, kFrames});
    const at::Tensor window = model.forward(clean, still, context);
    CachedTransformer stream(model, {2, 3}, text,
                             memory::make_window_history({.sink_frames = 0, .recent_frames = 6}));
    for (int64_t first = 0; first < kFrames; first += 3) {
      stream.open_chunk(std::span(cameras).subspan(static_cast<size_t>(first), 3));
      const at::Tensor part = clean.narrow(2, first, 3);
      EXPECT_LE(
          relative_error(stream.velocity(part, still.narrow(1, 0, 3)), window.narrow(2, first, 3)),
          2e-5)
          << system << " " << first;
      stream.commit(part, still.narrow(1, 0, 3));
    }
  }
}

// The layout of SolarWM's stage 2: model.pt with live and averaged weights, no config.json.
class SolarwmFolder : public ::testing::Test {
 protected:
  SolarwmFolder() {
    fs::create_directories(folder_ / "vae");
    fs::copy(fs::path(LOCI_TEST_DATA) / "model/solarwm/model.pt", folder_ / "model.pt");
    model::Vae(testing::tiny_vae_config()).save(folder_ / "vae");
  }
  ~SolarwmFolder() override { fs::remove_all(folder_); }

  fs::path folder_ = fs::path(::testing::TempDir()) / fmt::format("loci_solarwm_{}", ::getpid());
};

TEST_F(SolarwmFolder, IsRecognisedWithTheSettingsOfItsAuthors) {
  const ModelFolder folder(folder_);
  EXPECT_EQ(folder.config().system, "solarwm");
  EXPECT_EQ(folder.config().layers, 1);
  EXPECT_EQ(folder.config().channels, 3);
  EXPECT_EQ(folder.config().chunk_size, 3);
  EXPECT_EQ(folder.defaults().width, 864);
  EXPECT_EQ(folder.defaults().solver.kind, "renoise-bf16");
  EXPECT_EQ(folder.defaults().sink_frames, 0);
  EXPECT_EQ(folder.time_grid().frames_per_chunk(), 12);
  // Own values have priority.
  write_file(folder_ / "generation.json", R"({"width": 48, "height": 32, "steps": 2})");
  const ModelFolder own(folder_);
  EXPECT_EQ(own.defaults().width, 48);
  EXPECT_EQ(own.defaults().solver.steps, 2);
  EXPECT_EQ(own.defaults().solver.kind, "renoise-bf16");
  Stream stream = open_stream(own);
  stream.accept(latents(1), walk(0, 1));
  EXPECT_THAT(stream.push(walk(1, 2)).visible, IsEmpty());
  EXPECT_THAT(stream.push(walk(3, 3)).visible, ElementsAre(0, 1, 2));
}

TEST_F(SolarwmFolder, TheAveragedWeightsAreLoaded) {
  const io::Checkpoint file = io::Checkpoint::open(folder_ / "model.pt");
  const model::LoadedModel loaded = model::load_model(folder_);
  EXPECT_TRUE(loaded.report.clean());
  EXPECT_FALSE(loaded.new_branches);
  for (const model::Parameter& parameter : loaded.transformer.parameters().all()) {
    if (parameter.name != "blocks.0.attn1.to_q.weight") continue;
    const std::string name = "model.blocks.0.self_attn.q.weight";
    EXPECT_TRUE(at::equal(parameter.tensor, file.tensor("generator_ema." + name).to(at::kFloat)));
    EXPECT_FALSE(at::equal(parameter.tensor, file.tensor("generator." + name).to(at::kFloat)));
  }
}

TEST_F(SolarwmFolder, MissingAndUnexpectedTensorsAreBadInput) {
  const io::Checkpoint file = io::Checkpoint::open(folder_ / "model.pt");
  fs::remove(folder_ / "model.pt");
  write_file(folder_ / "config.json",
             R"({"system": "solarwm", "num_attention_heads": 1, "num_layers": 1, "in_channels": 3,
                 "ffn_dim": 32, "text_dim": 16, "freq_dim": 32})");
  const auto write = [&](const std::string& left_out, const std::string& extra) {
    io::NamedTensors tensors;
    for (const std::string& name : file.names()) {
      if (!name.starts_with("generator_ema.") || name.ends_with(left_out)) continue;
      // The prefix of distributed training, between the parts of the name.
      tensors.emplace_back("model._fsdp_wrapped_module." + name.substr(20), file.tensor(name));
    }
    if (!extra.empty()) tensors.emplace_back(extra, at::zeros({2}));
    io::write_safetensors(folder_ / "model.safetensors", tensors);
  };
  write("nothing", "");
  EXPECT_EQ(model::load_model(folder_).transformer.config().system, "solarwm");
  write("self_attn.v.bias", "");
  EXPECT_BAD_INPUT(model::load_model(folder_), HasSubstr("blocks.0.attn1.to_v.bias"));
  write("nothing", "model.blocks.0.more");
  EXPECT_BAD_INPUT(model::load_model(folder_), HasSubstr("blocks.0.more"));
  // Weights of stage 1 do not fit stage 2.
  write("nothing", "delta_embedding.0.bias");
  EXPECT_BAD_INPUT(model::load_model(folder_), HasSubstr("target_embedder.linear_1.bias"));
}

TEST(Systems, TensorsTellTheSystem) {
  const auto system = [](const std::string& name) {
    const std::vector<std::string> names = {"model.patch_embedding.weight", name};
    return model::identify_system(names, "x.pt");
  };
  EXPECT_EQ(system("model.blocks.0.self_attn.q.weight"), "");
  EXPECT_EQ(system("generator_ema.model.head.head.weight"), "solarwm");
  EXPECT_EQ(system("generator_ema.model.delta_embedding.0.bias"), "solarwm-anyflow");
  EXPECT_EQ(system("model.blocks.0.self_attn.prope_o.weight"), "astronex");
  EXPECT_EQ(system("subject_ref_type_embedding"), "matrix-game-base");
  const std::vector<std::string> other = {"blocks.0.attn1.to_out_prope.0.weight",
                                          "condition_embedder.action_embedder.linear_1.weight"};
  EXPECT_BAD_INPUT(model::identify_system(other, "x.pt"), HasSubstr("HY-WorldPlay"));
}

TEST(Systems, UnknownSystemsAndContradictionsAreBadInput) {
  const auto read = [](const Json& json) { model::TransformerConfig::from_json(json, "c.json"); };
  EXPECT_BAD_INPUT(read({{"system", "solarvm"}}), HasSubstr("did you mean 'solarwm'"));
  EXPECT_BAD_INPUT(read({{"system", "solarwm"}, {"chunk_size", 1}}), HasSubstr("at least 2"));
  EXPECT_BAD_INPUT(read({{"system", "solarwm"}, {"time_offset", 1}}), HasSubstr("time_offset"));
  EXPECT_BAD_INPUT(read({{"history_keys", "recomputed"}}), HasSubstr("key_times window"));
  EXPECT_BAD_INPUT(read({{"attention_map", "projection"}}), HasSubstr("hybrid_layers"));
  EXPECT_BAD_INPUT(read({{"system", "solarwm"}, {"projection", {{"focal", {1}}}}}),
                   HasSubstr("two positive numbers"));
}

// Predictions of the clean latent with fresh noise between the steps.
TEST(RenoiseSolver, AddsNoiseAtTheNextLevel) {
  const std::vector<double> levels = {1, 0.9375, 5.0 / 6, 0.625};
  const auto exact = make_solver({.kind = "renoise", .steps = 4, .shift = 5});
  const auto rounded = make_solver({.kind = "renoise-bf16", .steps = 4, .shift = 5});
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(exact->timestep(i), 1000 * levels[static_cast<size_t>(i)], 1e-9);
    EXPECT_NEAR(rounded->level(i), levels[static_cast<size_t>(i)], 1e-12);
  }
  EXPECT_EQ(rounded->timestep(1), 936);
  EXPECT_EQ(rounded->timestep(2), 832);
  EXPECT_EQ(rounded->timestep(3), 624);
  const at::Tensor x = at::full({1, 1, 2, 1, 1}, 2.0), v = at::full({1, 1, 2, 1, 1}, 0.5);
  exact->set_noise([](int64_t i) { return at::full({1, 1, 2, 1, 1}, 10.0 + i); });
  EXPECT_NEAR(exact->step(0, x, v).flatten()[0].item<double>(), 1.5 * 0.0625 + 10 * 0.9375, 1e-5);
  EXPECT_NEAR(exact->step(3, x, v).flatten()[0].item<double>(), 2 - 0.5 * 0.625, 1e-6);
  // Levels rounded to BF16.
  const auto levels_rounded = make_solver({.kind = "renoise-rounded", .steps = 3, .shift = 5});
  EXPECT_EQ(levels_rounded->level(1), 0.91015625);
  EXPECT_EQ(levels_rounded->level(2), 0.71484375);
  EXPECT_EQ(levels_rounded->timestep(1), 908);
  EXPECT_EQ(levels_rounded->timestep(2), 712);
  // With three steps the levels are those of 1000, 667 and 333 thousandths.
  const auto three = make_solver({.kind = "renoise", .steps = 3, .shift = 5});
  EXPECT_NEAR(three->timestep(1), 909.2148, 1e-4);
  EXPECT_NEAR(three->timestep(2), 713.9794, 1e-4);
}

TEST(Denoise, KeepsTheGivenLatents) {
  const auto solver = make_solver({.kind = "euler", .steps = 3, .shift = 1});
  const at::Tensor given = at::full({1, 1, 1, 1, 1}, 7.0);
  int64_t calls = 0;
  const at::Tensor out =
      denoise(*solver, at::zeros({1, 1, 3, 1, 1}), given,
              [&](const at::Tensor& x, const at::Tensor& times, const at::Tensor& targets) {
                EXPECT_EQ(x.flatten()[0].item<double>(), 7);
                EXPECT_EQ(times[0][0].item<double>(), 0);
                EXPECT_EQ(targets[0][0].item<double>(), 0);
                EXPECT_GT(times[0][1].item<double>(), targets[0][1].item<double>());
                ++calls;
                return at::ones_like(x);
              });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(out.flatten()[0].item<double>(), 7);
  EXPECT_NEAR(out.flatten()[1].item<double>(), -1, 1e-6);
}

}  // namespace
}  // namespace loci::sample
