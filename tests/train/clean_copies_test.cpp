// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/clean_copies.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/memory/recurrent/recurrent_registry.h"
#include "loci/train/data/latent_folder.h"
#include "loci/train/transformer/transformer_recipe.h"
#include "loci/train/windows/target_chunks.h"
#include "loci/train/windows/window_pass.h"

#include "tests/base/expect_error.h"
#include "toy_clips.h"

namespace loci::train {
namespace {

// A window under the given noise and visible history.
WindowPass assembled(const Window& window, const model::TransformerConfig& model,
                     const ChunkNoise& noise, const HistoryConfig& history = {},
                     const GeneratedPast& generated = {}, std::vector<bool> targets = {}) {
  WindowPlan plan;
  plan.noise = noise;
  plan.targets = std::move(targets);
  plan.chunks = draw_visible_history(history, window, model, 7);
  return assemble_window(window, model, plan, 7, at::kCPU, generated);
}

TEST(CleanCopies, ChunksAttendToCopiesOnly) {
  std::vector<model::ChunkSpan> chunks = model::window_chunks(7, 2);
  chunks[2].earlier = {0, 2};
  const CopiedInput input = with_clean_copies(chunks);
  EXPECT_EQ(input.frames, (std::vector<int64_t>{0, 1, 2, 1, 2, 3, 4, 3, 4, 5, 6}));
  EXPECT_EQ(input.outputs(), (std::vector<int64_t>{0, 1, 2, 5, 6, 9, 10}));
  ASSERT_EQ(input.chunks.size(), 6u);
  const std::vector<bool> written = {true, false, true, false, true, false};
  const std::vector<std::vector<int64_t>> earlier = {{}, {0}, {0}, {0, 4}, {0, 4}, {0, 3, 4, 7, 8}};
  for (size_t i = 0; i < input.chunks.size(); ++i) {
    EXPECT_EQ(input.chunks[i].written, written[i]) << i;
    EXPECT_EQ(input.chunks[i].earlier, earlier[i]) << i;
    for (int64_t frame = input.chunks[i].begin; frame < input.chunks[i].end; ++frame) {
      EXPECT_EQ(input.target[static_cast<size_t>(frame)], !written[i]);
    }
  }
}

class CleanCopiesOf : public ::testing::TestWithParam<std::string> {};

// One pass with clean copies gives every target chunk the result of a pass in which all chunks
// before it are clean.
TEST_P(CleanCopiesOf, GiveEveryChunkACleanPast) {
  const auto folder = write_toy_clips(fresh_folder("copies"), 2, 13);
  Json recipe = toy_recipe(folder);
  recipe["model"]["recurrent_memory"] = GetParam();
  const TransformerRecipe config = TransformerRecipe::from_json(recipe, "toy");
  const auto parameters = std::make_shared<model::Parameters>();
  const model::Transformer transformer(config.model, parameters);
  const at::NoGradGuard no_grad;
  at::manual_seed(1);
  // Changes the initial weights, with which some branches have no effect.
  for (const auto& [name, tensor] : parameters->all()) tensor.add_(0.1 * at::randn_like(tensor));
  const Window window = LatentFolder(folder, 1).window(0, 13);
  const at::Tensor text = at::zeros({1, 1, config.model.text_dim});
  const int64_t chunk = config.model.chunk_size, chunks = 12 / chunk;
  for (const double bounded : {0.0, 1.0}) {
    HistoryConfig history;
    history.bounded_share = bounded;
    history.bank_frames = {2};
    history.recent_frames = {1};
    ChunkNoise noise;
    for (int64_t i = 0; i < chunks; ++i) noise.levels.push_back(0.9 - 0.1 * static_cast<double>(i));
    noise.weights.assign(noise.levels.size(), 1);
    ChunkNoise with_copies = noise;
    with_copies.copy_levels.assign(noise.levels.size(), 0);
    const at::Tensor all =
        run_window(transformer, assembled(window, config.model, with_copies, history), text);
    ASSERT_EQ(all.size(2), 13);
    for (int64_t i = 0; i < chunks; ++i) {
      ChunkNoise alone = noise;
      for (int64_t past = 0; past < i; ++past) alone.levels[static_cast<size_t>(past)] = 0;
      const at::Tensor expected =
          run_window(transformer, assembled(window, config.model, alone, history), text);
      const auto part = [&](const at::Tensor& x) { return x.narrow(2, 1 + i * chunk, chunk); };
      EXPECT_TRUE(at::allclose(part(all), part(expected), 1e-3, 1e-4)) << i;
      // A noisy past gives another result.
      const at::Tensor noisy =
          run_window(transformer, assembled(window, config.model, noise, history), text);
      if (i > 0) {
        EXPECT_FALSE(at::allclose(part(all), part(noisy), 1e-2, 1e-3)) << i;
      }
    }
  }
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Memories, CleanCopiesOf,
                         ::testing::ValuesIn(memory::recurrent_memory_names()),
                         [](const auto& info) { return info.param; });

TEST(CleanCopies, CopiesAreGeneratedAndTargetsAreRecorded) {
  const auto folder = write_toy_clips(fresh_folder("copies_guess"), 2, 13);
  const TransformerRecipe config = TransformerRecipe::from_json(toy_recipe(folder), "toy");
  const Window window = LatentFolder(folder, 1).window(0, 13);
  const int64_t chunk = config.model.chunk_size;
  GeneratedPast generated{window.latents + 5, std::vector<bool>(12 / chunk, true)};
  ChunkNoise noise;
  noise.levels.assign(generated.chunks.size(), 0.5);
  noise.weights.assign(generated.chunks.size(), 1);
  noise.copy_levels.assign(generated.chunks.size(), 0);
  const WindowPass with_generated = assembled(window, config.model, noise, {}, generated);
  const WindowPass recorded = assembled(window, config.model, noise);
  EXPECT_TRUE(with_generated.batch.target.equal(recorded.batch.target));
  const at::Tensor difference = with_generated.latents - recorded.latents;
  for (const int64_t frame : with_generated.outputs) {
    if (frame == 0) continue;
    EXPECT_EQ(difference.select(2, frame).abs().max().item<float>(), 0);
  }
  EXPECT_NEAR(difference.select(2, with_generated.outputs[1] + chunk).mean().item<double>(), 5,
              1e-5);
  std::filesystem::remove_all(folder);
}

TEST(CleanCopies, OmitChunksAfterTheLastTarget) {
  const std::vector<model::ChunkSpan> chunks = model::window_chunks(9, 2);
  const CopiedInput input = with_clean_copies(chunks, {false, true, true, false});
  // Chunk 1 is a copy only, chunk 3 is the last target, and chunk 4 is omitted.
  EXPECT_EQ(input.frames, (std::vector<int64_t>{0, 1, 2, 3, 4, 3, 4, 5, 6}));
  EXPECT_EQ(input.outputs(), (std::vector<int64_t>{0, 3, 4, 7, 8}));
  ASSERT_EQ(input.chunks.size(), 5u);
  const std::vector<std::vector<int64_t>> earlier = {
      {}, {0}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2, 5, 6}};
  for (size_t i = 0; i < input.chunks.size(); ++i) {
    EXPECT_EQ(input.chunks[i].earlier, earlier[i]) << i;
    EXPECT_EQ(input.chunks[i].written, i != 2 && i != 4) << i;
  }
}

// The result of a target chunk does not depend on which other chunks are targets.
TEST(CleanCopies, TargetsAreIndependentOfEachOther) {
  const auto folder = write_toy_clips(fresh_folder("copies_asked"), 2, 21);
  const TransformerRecipe config = TransformerRecipe::from_json(toy_recipe(folder), "toy");
  const auto parameters = std::make_shared<model::Parameters>();
  const model::Transformer transformer(config.model, parameters);
  const at::NoGradGuard no_grad;
  at::manual_seed(1);
  for (const auto& [name, tensor] : parameters->all()) tensor.add_(0.1 * at::randn_like(tensor));
  Window window = LatentFolder(folder, 1).window(0, 21);
  // A turn to the side and back: the last chunks are returns, the first are not.
  for (size_t i = 0; i < 21; ++i) {
    const double turn = (i <= 10 ? static_cast<double>(i) : 20.0 - static_cast<double>(i)) * 0.13;
    window.cameras[i].pose = {camera::rotation_from_angles(turn, 0), {0, 0, 0}};
  }
  const int64_t chunk = config.model.chunk_size, chunks = 20 / chunk;
  const auto gaps = return_gaps(window, chunk);
  ASSERT_FALSE(gaps.front());
  ASSERT_TRUE(gaps.back());
  ChunkNoise noise;
  for (int64_t i = 0; i < chunks; ++i) noise.levels.push_back(0.9 - 0.1 * static_cast<double>(i));
  for (int64_t i = 0; i < chunks; ++i) noise.weights.push_back(1 + static_cast<double>(i));
  noise.copy_levels.assign(noise.levels.size(), 0.05);
  const at::Tensor text = at::zeros({1, 1, config.model.text_dim});
  HistoryConfig history;
  const WindowPass all = assembled(window, config.model, noise, history);
  const WindowPass returns =
      assembled(window, config.model, noise, history, {},
                draw_target_chunks(CleanCopies{.new_share = 0}, window, chunk, 7));
  const at::Tensor expected = run_window(transformer, all, text);
  const at::Tensor found = run_window(transformer, returns, text);
  ASSERT_EQ(returns.targets.size(), gaps.size());
  int64_t at = 0;
  for (int64_t i = 0; i < chunks; ++i) {
    ASSERT_EQ(returns.targets[static_cast<size_t>(i)], gaps[static_cast<size_t>(i)].has_value());
    if (!returns.targets[static_cast<size_t>(i)]) continue;
    const auto whole = [&](const at::Tensor& x) { return x.narrow(2, 1 + i * chunk, chunk); };
    const auto part = [&](const at::Tensor& x) { return x.narrow(2, 1 + at * chunk, chunk); };
    EXPECT_TRUE(at::allclose(part(found), whole(expected), 1e-4, 1e-5)) << i;
    EXPECT_TRUE(part(returns.batch.target).equal(whole(all.batch.target))) << i;
    EXPECT_EQ(returns.batch.levels[0][at].item<float>(), all.batch.levels[0][i].item<float>());
    EXPECT_EQ(returns.chunk_weights[at].item<float>(), static_cast<float>(1 + i));
    ++at;
  }
  EXPECT_EQ(found.size(2), 1 + at * chunk);
  EXPECT_EQ(returns.batch.target.size(2), 1 + at * chunk);
  EXPECT_LT(returns.latents.size(2), all.latents.size(2));
  // With the whole past visible, the chunks are the same.
  EXPECT_EQ(whole_past(returns, chunk).size(), returns.chunks.size());
  EXPECT_EQ(whole_past(returns, chunk).back().end, returns.chunks.back().end);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace loci::train
