// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/stream/stream.h"

#include <filesystem>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/model/weights/weight_hash.h"

#include "tests/base/expect_error.h"
#include "tests/model/tiny_model.h"
#include "tests/sample/tiny_folder.h"

namespace loci::sample {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::relative_error;
using testing::tiny_vae_config;
using testing::TinyWindow;

constexpr int64_t kHeight = 4, kWidth = 6;

// A model, an autoencoder, a trajectory and a prompt.
struct Setting {
  explicit Setting(const model::TransformerConfig& config = testing::tiny_config())
      : model(testing::random_transformer(config)) {}

  model::Transformer model;
  model::Vae vae{tiny_vae_config()};
  TinyWindow walk = testing::tiny_window(testing::tiny_config(), 8);
  Prompt prompt{"a text", walk.text[0], "another", at::full({2, 16}, 0.3)};

  StreamOptions options(const std::string& history = "sparse") const {
    StreamOptions options = testing::tiny_stream_options(history, 3);
    options.seed = 7;
    return options;
  }

  at::Tensor latents(int64_t first, int64_t count) const {
    return walk.latents.narrow(2, first, count);
  }
  std::span<const camera::Camera> cameras(int64_t first, int64_t count) const {
    return std::span(walk.cameras).subspan(first, count);
  }

  Chunk accept(Stream& stream, int64_t count) const {
    const int64_t first = stream.frames();
    return stream.accept(latents(first, count), cameras(first, count));
  }
  // The next chunk of the walk.
  Chunk push(Stream& stream) const {
    const int64_t first = stream.frames();
    return stream.push(cameras(first, 2));
  }
  Stream begun(const StreamOptions& options) const {
    Stream stream(model, &vae, options, prompt);
    accept(stream, 1);
    return stream;
  }
  // A stream after its first frame and `chunks` generated ones.
  Stream after(const StreamOptions& options, int chunks) const {
    Stream stream = begun(options);
    for (int i = 0; i < chunks; ++i) push(stream);
    return stream;
  }
};

void expect_same(const Chunk& a, const Chunk& b) {
  EXPECT_EQ(a.first, b.first);
  EXPECT_EQ(a.visible, b.visible);
  EXPECT_TRUE(at::equal(a.latents, b.latents));
  EXPECT_TRUE(at::equal(a.frames, b.frames));
}

// Denoising without any reuse: every step recomputes geometry, text keys and history, and discards
// the state update.
at::Tensor direct_denoise(const CachedTransformer& past, const Setting& s, const Prompt& prompt,
                          const Solver& levels, at::Tensor x, Solver& solver) {
  const at::NoGradGuard no_grad;
  const model::TransformerConfig& config = s.model.config();
  const int64_t first = past.next_frame();
  const std::vector<camera::Camera> relative = camera::relative_to_first(s.walk.cameras);
  for (int64_t i = 0; i < levels.steps(); ++i) {
    const std::array<int64_t, 1> start = {0};
    const std::array<camera::FrameGeometry, 1> geometry = {
        camera::frame_geometry(std::span(relative).subspan(first, 2), start,
                               config.grid(kHeight, kWidth), config.kda_translation_scale)};
    const std::vector<double> times = {static_cast<double>(first), static_cast<double>(first + 1)};
    const model::TokenMaps maps =
        model::make_token_maps(geometry, times, config.recurrent_mapping());
    const model::TextKeys text = s.model.text_keys(prompt.embedding.unsqueeze(0));
    const model::PastKeys history(
        past.store(), memory::VisibleHistory::at_compact_times(past.policy().select({}), first));
    model::ForwardContext context;
    context.visible.maps = &maps;
    context.visible.text = &text;
    context.visible.chunks.resize(1);
    context.visible.chunks.front().end = 2;
    context.visible.past = &history;
    for (const at::Tensor& state : past.states()) {
      context.memory.states.push_back(state.defined() ? state.clone() : at::Tensor());
    }
    context.memory.write_states = true;
    const at::Tensor v =
        s.model.forward(x, at::full({1, 2}, levels.timestep(i), at::kFloat), context);
    EXPECT_FALSE(at::equal(context.memory.states[1], past.states()[1]));
    x = solver.step(i, x, v);
  }
  return x;
}

TEST(Stream, DenoisingEqualsTheDirectVersionAndLeavesTheMemoryUnchanged) {
  const Setting s;
  StreamOptions options = s.options();
  Stream stream = s.after(options, 4);
  stream.commit();
  stream.set_solver({.steps = 50});
  const auto before = stream.main().save();
  std::map<std::string, at::Tensor> copies;
  for (const auto& [name, tensor] : before) copies[name] = tensor.clone();

  Stream twin = stream.fork();
  const Chunk chunk = s.push(stream);
  const auto after = stream.main().save();
  ASSERT_EQ(after.size(), copies.size());
  for (const auto& [name, tensor] : after) EXPECT_TRUE(at::equal(tensor, copies.at(name))) << name;

  const std::unique_ptr<Solver> levels = make_solver({.steps = 50});
  const std::unique_ptr<Solver> solver = make_solver({.steps = 50});
  const at::Tensor direct =
      direct_denoise(twin.main(), s, s.prompt, *levels, twin.next_noise(), *solver);
  EXPECT_TRUE(at::equal(direct, chunk.latents));
}

TEST(Stream, CommitsAChunkWhenTheNextChunkNeedsIt) {
  const Setting s;
  Stream stream = s.begun(s.options());
  EXPECT_EQ(stream.main().next_frame(), 0);
  EXPECT_EQ(stream.frames(), 1);
  s.push(stream);
  EXPECT_EQ(stream.main().next_frame(), 1);
  EXPECT_EQ(stream.frames(), 3);
  stream.commit();
  EXPECT_EQ(stream.main().next_frame(), 3);
  stream.commit();
  EXPECT_EQ(stream.main().next_frame(), 3);
}

TEST(Stream, IsDeterministicForASeed) {
  const Setting s;
  Stream a = s.begun(s.options());
  Stream b = s.begun(s.options());
  StreamOptions other = s.options();
  other.seed = 8;
  Stream c = s.begun(other);
  for (int i = 0; i < 3; ++i) {
    const Chunk chunk = s.push(a);
    expect_same(s.push(b), chunk);
    EXPECT_GT(relative_error(s.push(c).latents, chunk.latents), 0.01);
    EXPECT_EQ(chunk.frames.sizes(), at::IntArrayRef({8, kHeight * 8, kWidth * 8, 3}));
  }
}

TEST(Stream, ReplayedChunksEqualGeneratedChunks) {
  const Setting s;
  Stream stream = s.begun(s.options());
  std::vector<at::Tensor> latents;
  for (int i = 0; i < 4; ++i) latents.push_back(s.push(stream).latents);
  Stream replayed = s.begun(s.options());
  for (int i = 0; i < 3; ++i) {
    const int64_t first = replayed.frames();
    replayed.replay(latents[i], s.cameras(first, 2));
  }
  EXPECT_TRUE(at::equal(s.push(replayed).latents, latents[3]));
}

TEST(Stream, MarksFramesAsRecordedOrGenerated) {
  const Setting s;
  const std::string file = testing::temporary_world("origins");
  StreamOptions options = s.options();
  options.history.kind = "dense";
  Stream stream(s.model, &s.vae, options, s.prompt);
  stream.accept_recording(s.latents(0, 3), s.cameras(0, 3));
  const at::Tensor made = s.push(stream).latents;
  stream.replay(made, s.cameras(5, 2));
  stream.save(file);
  const Stream loaded = Stream::load(file, s.model, &s.vae);
  const Stream forked = stream.fork();
  for (const Stream* each : {&std::as_const(stream), &loaded, &forked}) {
    std::vector<bool> given;
    for (const memory::RetainedFrame& held : each->main().policy().save()) {
      given.push_back(held.frame.origin == memory::Origin::kRecorded);
    }
    EXPECT_THAT(given, ElementsAre(true, true, true, false, false, false, false));
  }
  std::filesystem::remove(file);
}

TEST(Stream, AcceptsRecordingsOfAnyLength) {
  const Setting s;
  for (const int64_t length : {1, 2, 3, 8, 9}) {
    Stream stream(s.model, &s.vae, s.options(), s.prompt);
    stream.accept_recording(s.latents(0, length), s.cameras(0, length));
    EXPECT_EQ(stream.frames(), length);
    const Chunk chunk = s.push(stream);
    EXPECT_EQ(chunk.first, length);
    EXPECT_EQ(chunk.visible.back(), length - 1);
    EXPECT_TRUE(chunk.latents.isfinite().all().item<bool>());
  }
}

TEST(Stream, StartsFromAPicture) {
  const at::NoGradGuard no_grad;
  const Setting s;
  at::manual_seed(4);
  const at::Tensor image = at::randint(0, 256, {kHeight * 8, kWidth * 8, 3}, at::kByte);
  Stream stream(s.model, &s.vae, s.options(), s.prompt);
  const Chunk first = stream.accept_image(image, s.walk.cameras[0]);
  EXPECT_TRUE(
      at::equal(first.latents, model::VaeEncoder(s.vae).encode(model::pixels_from_frames(image))));
  EXPECT_EQ(first.frames.sizes(), at::IntArrayRef({1, kHeight * 8, kWidth * 8, 3}));
  s.push(stream);
  EXPECT_BAD_INPUT(stream.accept_image(image, s.walk.cameras[0]), HasSubstr("3 latents already"));
  Stream blind(s.model, nullptr, s.options(), s.prompt);
  EXPECT_INTERNAL_ERROR(blind.accept_image(image, s.walk.cameras[0]),
                        HasSubstr("without an autoencoder"));
}

TEST(Stream, GuidanceUsesASecondSetOfStates) {
  const Setting s;
  StreamOptions options = s.options("dense");
  EXPECT_EQ(s.begun(options).negative(), nullptr);
  Stream plain = s.after(options, 1);
  options.guidance = 3;
  Stream guided = s.after(options, 1);
  ASSERT_NE(guided.negative(), nullptr);
  EXPECT_EQ(guided.history_bytes(), 2 * plain.history_bytes());
  EXPECT_GT(relative_error(s.push(guided).latents, s.push(plain).latents), 1e-3);
  // With a negative prompt equal to the prompt, guidance changes only rounding.
  Prompt same = s.prompt;
  same.negative_embedding = same.embedding;
  Stream idle(s.model, &s.vae, options, same);
  s.accept(idle, 1);
  Stream alone = s.begun(s.options("dense"));
  EXPECT_LT(relative_error(s.push(idle).latents, s.push(alone).latents), 1e-4);
}

TEST(Stream, PromptAndSolverCanChangeAtEveryChunk) {
  const Setting s;
  Stream stream = s.after(s.options(), 1);
  Stream other = stream.fork();
  Prompt changed = s.prompt;
  changed.embedding = at::ones({4, 16});
  other.set_prompt(changed);
  EXPECT_GT(relative_error(s.push(other).latents, s.push(stream).latents), 1e-4);
  for (const std::string& kind : solver_names()) {
    Stream next = stream.fork();
    next.set_solver({.kind = kind, .steps = 6, .shift = 3});
    EXPECT_TRUE(s.push(next).latents.isfinite().all().item<bool>()) << kind;
  }
  EXPECT_BAD_INPUT(stream.set_solver({.kind = "heun"}), HasSubstr("unknown solver"));
}

TEST(Stream, ReadoutAndStatesCanBeSwitched) {
  const Setting s;
  const Stream stream = s.after(s.options(), 3);
  Stream on = stream.fork(), off = stream.fork(), random = stream.fork(), reset = stream.fork();
  off.set_readout(model::Readout::kOff);
  random.set_readout(model::Readout::kRandom, 5);
  reset.reset_states();
  const at::Tensor expected = s.push(on).latents;
  const at::Tensor without = s.push(off).latents;
  EXPECT_GT(relative_error(without, expected), 1e-4);
  EXPECT_GT(relative_error(s.push(random).latents, expected), 1e-4);
  EXPECT_LT(relative_error(s.push(reset).latents, without), 1e-4);
}

TEST(Stream, ForksAreIndependent) {
  const Setting s;
  Stream stream = s.after(s.options(), 3);
  Stream same = stream.fork();
  Stream left = stream.fork();
  const std::vector<camera::Camera> still(2, stream.last_camera());
  const Chunk elsewhere = left.push(still);
  left.push(still);
  for (int i = 0; i < 3; ++i) {
    const Chunk chunk = s.push(stream);
    expect_same(s.push(same), chunk);
    if (i == 0) {
      EXPECT_GT(relative_error(elsewhere.latents, chunk.latents), 1e-3);
    }
  }
}

class EveryWorld : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Histories, EveryWorld, ::testing::ValuesIn(memory::history_names()),
                         [](const auto& info) { return info.param; });

TEST_P(EveryWorld, ContinuesBitForBit) {
  const Setting s;
  const std::string file = testing::temporary_world("stream_" + GetParam());
  StreamOptions options = s.options(GetParam());
  options.guidance = GetParam() == "sparse" ? 2 : 1;
  options.kv.format = GetParam() == "window"    ? memory::KvFormat::kInt8
                      : GetParam() == "overlap" ? memory::KvFormat::kBf16
                                                : memory::KvFormat::kPlain;
  Stream stream = s.after(options, 5);
  stream.set_readout(GetParam() == "content" ? model::Readout::kRandom : model::Readout::kOn, 9);
  stream.save(file);
  Stream loaded = Stream::load(file, s.model, &s.vae);
  Stream blind = Stream::load(file, s.model, nullptr);
  EXPECT_EQ(loaded.frames(), 11);
  EXPECT_EQ(loaded.last_camera(), stream.last_camera());
  EXPECT_EQ(loaded.prompt().text, "a text");
  EXPECT_EQ(read_world(file).options.to_json(), options.to_json());
  for (int i = 0; i < 3; ++i) {
    const Chunk chunk = s.push(stream);
    expect_same(s.push(loaded), chunk);
    const Chunk unseen = s.push(blind);
    EXPECT_TRUE(at::equal(unseen.latents, chunk.latents));
    EXPECT_FALSE(unseen.frames.defined());
  }
  std::filesystem::remove(file);
}

TEST(World, AcceptsPrecomputedHashes) {
  const Setting s;
  const std::string file = testing::temporary_world("hashed");
  const ModelHashes hashes = hash_models(s.model, &s.vae);
  EXPECT_EQ(hashes.transformer, model::weight_hash(s.model.parameters()));
  EXPECT_EQ(hash_models(s.model, nullptr).autoencoder, "");
  Stream stream = s.after(s.options(), 2);
  stream.save(file, hashes);
  EXPECT_EQ(Stream::load(file, s.model, &s.vae).frames(), 5);
  EXPECT_EQ(Stream::load(file, s.model, &s.vae, hashes).frames(), 5);
  EXPECT_BAD_INPUT(Stream::load(file, s.model, &s.vae, {"x", hashes.autoencoder}),
                   HasSubstr("saved with other weights"));
  std::filesystem::remove(file);
}

TEST(Stream, DecodesAfterTheFramesOfAnotherStream) {
  const Setting s;
  Stream seen = s.after(s.options(), 2);
  Stream blind(s.model, nullptr, s.options(), s.prompt);
  Stream whole(s.model, &s.vae, s.options(), s.prompt);
  // Both replay the latents of the first stream, one of them without decoding.
  Stream source(s.model, nullptr, s.options(), s.prompt);
  s.accept(source, 1);
  std::vector<at::Tensor> latents = {s.latents(0, 1)};
  for (int i = 0; i < 2; ++i) latents.push_back(s.push(source).latents);
  for (const at::Tensor& chunk : latents) {
    const int64_t first = blind.frames(), count = chunk.size(2);
    blind.accept(chunk, s.cameras(first, count));
    whole.accept(chunk, s.cameras(first, count));
  }
  const model::Vae twin(tiny_vae_config());
  blind.decode_after(seen, twin);
  for (int i = 0; i < 2; ++i) expect_same(s.push(blind), s.push(whole));
}

TEST(World, RejectsOtherModelsAndDamagedFiles) {
  const Setting s;
  const std::string file = testing::temporary_world("refused");
  Stream stream = s.after(s.options(), 2);
  stream.save(file);
  const model::Transformer other =
      testing::random_transformer(testing::tiny_config(), at::kFloat, /*seed=*/2);
  EXPECT_NE(model::weight_hash(other.parameters()), model::weight_hash(s.model.parameters()));
  EXPECT_BAD_INPUT(Stream::load(file, other, nullptr), HasSubstr("saved with other weights"));
  model::TransformerConfig config = testing::tiny_config();
  config.text_len = 5;
  EXPECT_BAD_INPUT(Stream::load(file, testing::random_transformer(config), nullptr),
                   HasSubstr("another config"));
  const model::Vae other_vae(tiny_vae_config(), {.seed = 3});
  EXPECT_BAD_INPUT(Stream::load(file, s.model, &other_vae), HasSubstr("another autoencoder"));
  Stream fresh(s.model, nullptr, s.options(), s.prompt);
  EXPECT_BAD_INPUT(fresh.save(file), HasSubstr("no frame"));
  std::string bytes = read_file(file);
  write_file(file, bytes.substr(0, bytes.size() / 2));
  EXPECT_BAD_INPUT(Stream::load(file, s.model, nullptr), HasSubstr(file));
  write_file(file, "not a world");
  EXPECT_BAD_INPUT(read_world(file), HasSubstr(file));
  std::filesystem::remove(file);
}

TEST(Stream, StagingLimitsDoNotChangeResults) {
  // Two layers have keys to rotate; the limit holds one of them.
  model::TransformerConfig config = testing::tiny_config();
  config.layers = 3;
  const Setting s(config);
  StreamOptions options = s.options();
  Stream all = s.after(options, 4);
  const int64_t bytes = all.main().staged_bytes();
  EXPECT_GT(bytes, 0);
  options.kv.staging_bytes = bytes / 2;
  options.kv.offload_main = true;
  Stream half = s.after(options, 4);
  EXPECT_LE(half.main().staged_bytes(), bytes / 2);
  EXPECT_GT(half.main().staged_bytes(), 0);
  expect_same(s.push(half), s.push(all));
}

TEST(Stream, DecodesInTiles) {
  const Setting s;
  StreamOptions options = s.options();
  Stream whole = s.after(options, 1);
  options.tiling = {.tile = 32, .overlap = 16};
  Stream tiled = s.after(options, 1);
  const Chunk expected = s.push(whole), chunk = s.push(tiled);
  EXPECT_TRUE(at::equal(chunk.latents, expected.latents));
  EXPECT_EQ(chunk.frames.sizes(), expected.frames.sizes());
  const at::Tensor difference =
      (chunk.frames.to(at::kFloat) - expected.frames.to(at::kFloat)).abs();
  EXPECT_LE(difference.max().item<double>(), 8);
  const auto file = testing::temporary_world("tiled");
  tiled.save(file);
  Stream loaded = Stream::load(file, s.model, &s.vae);
  EXPECT_EQ(loaded.options().tiling, options.tiling);
  expect_same(s.push(loaded), s.push(tiled));
  std::filesystem::remove(file);
  options.tiling.tile = 50;
  EXPECT_BAD_INPUT(s.begun(options), HasSubstr("does not divide into latents"));
}

TEST(Stream, CompressedHistoriesStayClose) {
  const Setting s;
  StreamOptions options = s.options();
  Stream exact = s.after(options, 1);
  const at::Tensor expected = s.push(exact).latents;
  for (const auto& [format, error] :
       {std::pair(memory::KvFormat::kBf16, 0.02), std::pair(memory::KvFormat::kInt8, 0.04)}) {
    options.kv.format = format;
    Stream narrow = s.after(options, 1);
    EXPECT_LT(narrow.main().store().bytes(), exact.main().store().bytes());
    const double off = relative_error(s.push(narrow).latents, expected);
    EXPECT_LT(off, error);
    EXPECT_GT(off, 0);
  }
}

TEST(Stream, BoundedHistoriesDoNotGrow) {
  const Setting s;
  Stream stream = s.after(s.options(), 1);
  stream.commit();
  const int64_t bytes = stream.history_bytes();
  const std::vector<camera::Camera> still(2, stream.last_camera());
  for (int i = 0; i < 30; ++i) stream.push(still);
  EXPECT_EQ(stream.history_bytes(), bytes);
  EXPECT_EQ(stream.frames(), 63);
}

TEST(Stream, RejectsInputThatDoesNotFit) {
  const Setting s;
  Stream stream(s.model, &s.vae, s.options(), s.prompt);
  EXPECT_BAD_INPUT(stream.push(s.cameras(0, 2)), HasSubstr("first frame"));
  EXPECT_BAD_INPUT(stream.accept(s.latents(0, 2), s.cameras(0, 1)),
                   HasSubstr("expected [1, 3, 1, 4, 6]"));
  s.accept(stream, 1);
  EXPECT_BAD_INPUT(stream.push(s.cameras(0, 3)), HasSubstr("expects 2"));
  // The stream continues after a rejected input.
  s.push(stream);
  StreamOptions options = s.options();
  options.guidance = -1;
  EXPECT_BAD_INPUT(Stream(s.model, nullptr, options, s.prompt),
                   HasSubstr("guidance -1 is out of range"));
  options = s.options();
  options.latent_width = 0;
  EXPECT_BAD_INPUT(Stream(s.model, nullptr, options, s.prompt), HasSubstr("latent size of 0x4"));
  Prompt wrong;
  wrong.embedding = at::zeros({2, 5});
  EXPECT_BAD_INPUT(Stream(s.model, nullptr, s.options(), wrong), HasSubstr("5 values"));
}

}  // namespace
}  // namespace loci::sample
