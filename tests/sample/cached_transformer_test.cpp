// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/stream/cached_transformer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"
#include "tests/model/tiny_model.h"

namespace loci::sample {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::relative_error;
using testing::TinyWindow;

std::span<const camera::Camera> cameras_of(const TinyWindow& w, const model::ChunkSpan& chunk) {
  return std::span(w.cameras).subspan(chunk.begin, chunk.end - chunk.begin);
}
at::Tensor latents_of(const TinyWindow& w, const model::ChunkSpan& chunk) {
  return w.latents.narrow(2, chunk.begin, chunk.end - chunk.begin);
}
at::Tensor times_of(const TinyWindow& w, const model::ChunkSpan& chunk) {
  return w.timesteps.narrow(1, chunk.begin, chunk.end - chunk.begin);
}

// Opens and commits the first `count` chunks of the window.
void commit_chunks(CachedTransformer& stream, const TinyWindow& w, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    stream.open_chunk(cameras_of(w, w.chunks[i]));
    stream.commit(latents_of(w, w.chunks[i]), times_of(w, w.chunks[i]));
  }
}

// Streams the window's latents: computes the velocity of each chunk, then commits the same latents
// at the same timestep.
struct Streamed {
  at::Tensor velocity;
  std::vector<at::Tensor> states;
};
Streamed stream_window(const model::Transformer& transformer, const TinyWindow& w,
                       std::unique_ptr<memory::HistoryPolicy> policy) {
  const at::NoGradGuard no_grad;
  CachedTransformer stream(transformer, w.grid, transformer.text_keys(w.text), std::move(policy));
  std::vector<at::Tensor> velocities;
  for (const model::ChunkSpan& chunk : w.chunks) {
    stream.open_chunk(cameras_of(w, chunk));
    velocities.push_back(stream.velocity(latents_of(w, chunk), times_of(w, chunk)));
    stream.commit(latents_of(w, chunk), times_of(w, chunk));
  }
  return {at::cat(velocities, 2), stream.states()};
}

// Memories, and variants of the ray encoding, with two attention heads and two hybrid blocks.
std::vector<std::pair<std::string, model::TransformerConfig>> memory_configs() {
  model::TransformerConfig config = testing::tiny_config();
  config.heads = 2;
  config.layers = 3;
  config.hybrid_layers = {1, 2};
  config.camera_attn_compress = 2;
  std::vector<std::pair<std::string, model::TransformerConfig>> list;
  for (const char* memory :
       {"chunk_kda", "token_kda", "frame_deltanet", "linear", "ssm", "none", "ray_kda"}) {
    config.recurrent_memory = memory;
    list.emplace_back(memory, config);
  }
  const auto add = [&](const char* name, const auto& change) {
    model::TransformerConfig changed = config;
    change(changed);
    list.emplace_back(name, changed);
  };
  add("values", [](auto& c) { c.ray_encoding.values = true; });
  add("no tiles", [](auto& c) { c.ray_encoding.tiles = false; });
  add("points", [](auto& c) { c.ray_encoding.distances = {2, 8}; });
  add("all channels", [](auto& c) {
    c.ray_encoding.channels = 128;
    c.ray_encoding.tiles = false;
  });
  add("six recurrent heads", [](auto& c) { c.recurrent_heads_per_head = 3; });
  return list;
}

TEST(CachedTransformer, DenseStreamEqualsTheWindow) {
  const at::NoGradGuard no_grad;
  for (const auto& [memory, config] : memory_configs()) {
    const model::Transformer transformer = testing::random_transformer(config);
    const TinyWindow w = testing::tiny_window(config, 4, /*batch=*/2);
    std::vector<at::Tensor> states;
    const at::Tensor window = testing::window_velocity(transformer, w, &states);
    const Streamed streamed = stream_window(transformer, w, memory::make_dense_history());
    EXPECT_LT(relative_error(streamed.velocity, window), 1e-5) << memory;
    for (size_t layer = 0; layer < states.size(); ++layer) {
      ASSERT_EQ(states[layer].defined(), streamed.states[layer].defined());
      if (!states[layer].defined()) continue;
      EXPECT_LT(relative_error(streamed.states[layer], states[layer]), 1e-5) << memory;
    }
  }
}

// A window whose chunks see the frames of a bounded policy at compact times equals the bounded
// stream: rotating cached keys is the same as writing them at another time.
TEST(CachedTransformer, SparseStreamEqualsTheWindowWithTheSameVisibleFrames) {
  const at::NoGradGuard no_grad;
  const model::TransformerConfig config = testing::tiny_config();
  const model::Transformer transformer = testing::random_transformer(config);
  TinyWindow w = testing::tiny_window(config, 6);
  const memory::SparseOptions options{.bank_frames = 2, .recent_frames = 3};
  const auto policy = memory::make_sparse_history(options);
  const std::vector<camera::Camera> relative = camera::relative_to_first(w.cameras);
  for (model::ChunkSpan& chunk : w.chunks) {
    chunk.earlier = policy->select({});
    // Compact times by definition: the last visible frame is at begin - 1.
    const int64_t count = std::ssize(chunk.earlier);
    std::vector<double> shifts;
    for (int64_t i = 0; i < count; ++i) {
      shifts.push_back(static_cast<double>(chunk.begin - count + i - chunk.earlier[i]));
    }
    if (count > 0) chunk.rotation = model::time_shift(shifts, w.grid.tokens());
    for (int64_t f = chunk.begin; f < chunk.end; ++f) {
      policy->commit({f, relative[f].pose, relative[f].lens});
    }
  }
  const at::Tensor window = testing::window_velocity(transformer, w);
  const Streamed streamed = stream_window(transformer, w, memory::make_sparse_history(options));
  EXPECT_LT(relative_error(streamed.velocity, window), 1e-5);
}

TEST(CachedTransformer, DenoisingDoesNotChangeStatesAndStore) {
  const model::TransformerConfig config = testing::tiny_config();
  const model::Transformer transformer = testing::random_transformer(config);
  const TinyWindow w = testing::tiny_window(config, 3);
  CachedTransformer stream(transformer, w.grid, transformer.text_keys(w.text),
                           memory::make_sparse_history({.bank_frames = 2, .recent_frames = 3}));
  commit_chunks(stream, w, 3);
  const std::vector<int64_t> frames = stream.store().frames();
  const at::Tensor state = stream.states()[1].clone();
  const auto main = [&] { return stream.store().past(0, memory::Branch::kMain, frames); };
  const auto camera = [&] { return stream.store().past(1, memory::Branch::kCamera, frames); };
  const at::Tensor main_keys = main().keys(), main_values = main().values();
  const at::Tensor camera_keys = camera().keys();
  const int64_t bytes = stream.store().bytes();

  stream.open_chunk(cameras_of(w, w.chunks[3]));
  const at::Tensor first = stream.velocity(latents_of(w, w.chunks[3]), times_of(w, w.chunks[3]));
  for (int step = 0; step < 20; ++step) {
    stream.velocity(at::randn_like(latents_of(w, w.chunks[3])), times_of(w, w.chunks[3]));
  }
  EXPECT_TRUE(at::equal(stream.states()[1], state));
  EXPECT_EQ(stream.store().frames(), frames);
  EXPECT_EQ(stream.store().bytes(), bytes);
  EXPECT_TRUE(at::equal(main().keys(), main_keys));
  EXPECT_TRUE(at::equal(main().values(), main_values));
  EXPECT_TRUE(at::equal(camera().keys(), camera_keys));
  // The velocity does not depend on earlier calls.
  EXPECT_TRUE(
      at::equal(stream.velocity(latents_of(w, w.chunks[3]), times_of(w, w.chunks[3])), first));
}

TEST(CachedTransformer, ReadoutCanBeSwitched) {
  const model::TransformerConfig config = testing::tiny_config();
  const model::Transformer transformer = testing::random_transformer(config);
  const TinyWindow w = testing::tiny_window(config, 2);
  CachedTransformer stream(transformer, w.grid, transformer.text_keys(w.text),
                           memory::make_dense_history());
  commit_chunks(stream, w, 2);
  stream.open_chunk(cameras_of(w, w.chunks[2]));
  const auto velocity = [&] {
    return stream.velocity(latents_of(w, w.chunks[2]), times_of(w, w.chunks[2]));
  };
  const at::Tensor on = velocity();
  stream.set_readout(model::Readout::kOff);
  const at::Tensor off = velocity();
  EXPECT_GT(relative_error(off, on), 1e-4);
  stream.set_readout(model::Readout::kRandom, 1);
  const at::Tensor random = velocity();
  EXPECT_TRUE(at::equal(velocity(), random));
  EXPECT_GT(relative_error(random, on), 1e-4);
  EXPECT_GT(relative_error(random, off), 1e-4);
  stream.set_readout(model::Readout::kRandom, 2);
  EXPECT_GT(relative_error(velocity(), random), 1e-4);
  // The readout of a reset state is zero.
  stream.set_readout(model::Readout::kOn);
  stream.reset_states();
  EXPECT_LT(relative_error(velocity(), off), 1e-6);
}

TEST(CachedTransformer, InspectionObservesSoftmaxLayers) {
  model::TransformerConfig config = testing::tiny_config();
  config.layers = 3;  // the second is hybrid
  const model::Transformer transformer = testing::random_transformer(config);
  const TinyWindow w = testing::tiny_window(config, 2);
  CachedTransformer stream(transformer, w.grid, transformer.text_keys(w.text),
                           memory::make_dense_history());
  commit_chunks(stream, w, 2);
  const model::ChunkSpan& chunk = w.chunks[2];
  stream.open_chunk(cameras_of(w, chunk));
  const auto velocity = [&](const Inspection& look = {}) {
    return stream.velocity(latents_of(w, chunk), times_of(w, chunk), look);
  };
  const at::Tensor plain = velocity();
  std::vector<int64_t> layers;
  Inspection look;
  look.on_attention = [&](int64_t layer, const at::Tensor& query, const at::Tensor& key,
                          const kernels::AttentionPast* past) {
    layers.push_back(layer);
    const int64_t tokens = w.grid.tokens();
    EXPECT_EQ(query.size(1), (chunk.end - chunk.begin) * tokens);
    EXPECT_EQ(key.sizes(), query.sizes());
    ASSERT_NE(past, nullptr);
    EXPECT_EQ(past->keys().size(1), chunk.begin * tokens);
  };
  EXPECT_TRUE(at::equal(velocity(look), plain)) << "observers do not change the velocity";
  EXPECT_THAT(layers, ElementsAre(0, 2));
  // The readout of an inspection applies to one call only.
  const at::Tensor off = velocity({model::Readout::kOff, {}});
  EXPECT_TRUE(at::equal(velocity(), plain));
  stream.set_readout(model::Readout::kOff);
  EXPECT_TRUE(at::equal(velocity(), off));
}

TEST(CachedTransformer, FailedCommitChangesNothing) {
  const model::TransformerConfig config = testing::tiny_config();
  const model::Transformer transformer = testing::random_transformer(config);
  const TinyWindow w = testing::tiny_window(config, 1);
  CachedTransformer stream(transformer, w.grid, transformer.text_keys(w.text),
                           memory::make_sparse_history({.bank_frames = 1, .recent_frames = 1}));
  stream.open_chunk(cameras_of(w, w.chunks[0]));
  EXPECT_INTERNAL_ERROR(stream.commit(latents_of(w, w.chunks[1]), times_of(w, w.chunks[1])),
                        HasSubstr("maps belong to other frames"));
  EXPECT_EQ(stream.next_frame(), 0);
  EXPECT_TRUE(stream.store().frames().empty());
  stream.commit(latents_of(w, w.chunks[0]), times_of(w, w.chunks[0]));
  EXPECT_THAT(stream.store().frames(), ElementsAre(0));
}

TEST(CachedTransformer, RejectsChunksOfTheWrongSize) {
  const model::TransformerConfig config = testing::tiny_config();
  const model::Transformer transformer = testing::random_transformer(config);
  const TinyWindow w = testing::tiny_window(config, 1);
  CachedTransformer stream(transformer, w.grid, transformer.text_keys(w.text),
                           memory::make_dense_history());
  EXPECT_INTERNAL_ERROR(stream.velocity(w.latents, w.timesteps), HasSubstr("no chunk is open"));
  EXPECT_INTERNAL_ERROR(stream.visible(), HasSubstr("no chunk is open"));
  EXPECT_INTERNAL_ERROR(stream.open_chunk(cameras_of(w, w.chunks[1])), HasSubstr("expected 1"));
  stream.open_chunk(cameras_of(w, w.chunks[0]));
  EXPECT_TRUE(stream.visible().empty());
  stream.commit(latents_of(w, w.chunks[0]), times_of(w, w.chunks[0]));
  EXPECT_EQ(stream.next_frame(), 1);
  stream.open_chunk(cameras_of(w, w.chunks[1]));
  EXPECT_THAT(stream.visible(), ElementsAre(0));
}

TEST(CachedTransformer, PosesAreRelativeToTheFirstFrame) {
  // The same trajectory at another place and orientation gives the same stream.
  const model::TransformerConfig config = testing::tiny_config();
  const model::Transformer transformer = testing::random_transformer(config);
  TinyWindow w = testing::tiny_window(config, 3);
  const memory::SparseOptions options{.bank_frames = 2, .recent_frames = 2};
  const Streamed here = stream_window(transformer, w, memory::make_sparse_history(options));
  const camera::Pose elsewhere{camera::rotation_from_angles(2, 0.5, 0.3), {10, -4, 7}};
  for (auto& [pose, lens] : w.cameras) pose = elsewhere * pose;
  const Streamed there = stream_window(transformer, w, memory::make_sparse_history(options));
  EXPECT_LT(relative_error(there.velocity, here.velocity), 1e-4);
}

}  // namespace
}  // namespace loci::sample
