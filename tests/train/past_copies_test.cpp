// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/past_copies.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/memory/recurrent/recurrent_registry.h"
#include "loci/train/loop/train_config.h"
#include "loci/train/windows/latent_folder.h"
#include "loci/train/windows/memory_gaps.h"
#include "loci/train/windows/window_pass.h"

#include "tests/base/expect_error.h"
#include "toy_clips.h"

namespace loci::train {
namespace {

TEST(PastCopies, PresentsSeeCopiesAndNoOneSeesPresents) {
  std::vector<model::ChunkSpan> chunks = model::window_chunks(7, 2);
  chunks[2].earlier = {0, 2};
  const PastCopies copies = with_past_copies(chunks);
  EXPECT_EQ(copies.frames, (std::vector<int64_t>{0, 1, 2, 1, 2, 3, 4, 3, 4, 5, 6}));
  EXPECT_EQ(copies.outputs(), (std::vector<int64_t>{0, 1, 2, 5, 6, 9, 10}));
  ASSERT_EQ(copies.chunks.size(), 6u);
  const std::vector<bool> written = {true, false, true, false, true, false};
  const std::vector<std::vector<int64_t>> earlier = {{}, {0}, {0}, {0, 4}, {0, 4}, {0, 3, 4, 7, 8}};
  for (size_t i = 0; i < copies.chunks.size(); ++i) {
    EXPECT_EQ(copies.chunks[i].written, written[i]) << i;
    EXPECT_EQ(copies.chunks[i].earlier, earlier[i]) << i;
    for (int64_t frame = copies.chunks[i].begin; frame < copies.chunks[i].end; ++frame) {
      EXPECT_EQ(copies.present[static_cast<size_t>(frame)], !written[i]);
    }
  }
}

class PastCopiesOf : public ::testing::TestWithParam<std::string> {};

// One pass over a window with copies gives every chunk what a pass gives it in which all before it
// is clean.
TEST_P(PastCopiesOf, GiveEveryChunkACleanPast) {
  const auto folder = write_toy_clips(fresh_folder("copies"), 2, 13);
  Json recipe = toy_recipe(folder);
  recipe["model"]["recurrent_memory"] = GetParam();
  const TrainConfig config = TrainConfig::from_json(recipe, "toy");
  const auto parameters = std::make_shared<model::Parameters>();
  const model::Transformer transformer(config.model, parameters);
  const at::NoGradGuard no_grad;
  at::manual_seed(1);
  // Away from the start, where some branches give nothing yet.
  for (const auto& [name, tensor] : parameters->all()) tensor.add_(0.1 * at::randn_like(tensor));
  const Window window = LatentFolder(folder, 1).window(0, 13);
  const at::Tensor text = at::zeros({1, 1, config.model.text_dim});
  const int64_t chunk = config.model.chunk_size, chunks = 12 / chunk;
  for (const double bounded : {0.0, 1.0}) {
    HistoryAccessConfig history;
    history.bounded_share = bounded;
    history.bank_frames = {2};
    history.recent_frames = {1};
    ChunkNoise noise;
    for (int64_t i = 0; i < chunks; ++i) noise.levels.push_back(0.9 - 0.1 * static_cast<double>(i));
    noise.weights.assign(noise.levels.size(), 1);
    ChunkNoise with_copies = noise;
    with_copies.past_levels.assign(noise.levels.size(), 0);
    const at::Tensor all = run_window(
        transformer, prepare_window(window, config.model, with_copies, history, 0, 7), text);
    ASSERT_EQ(all.size(2), 13);
    for (int64_t i = 0; i < chunks; ++i) {
      ChunkNoise alone = noise;
      for (int64_t past = 0; past < i; ++past) alone.levels[static_cast<size_t>(past)] = 0;
      const at::Tensor expected =
          run_window(transformer, prepare_window(window, config.model, alone, history, 0, 7), text);
      const auto part = [&](const at::Tensor& x) { return x.narrow(2, 1 + i * chunk, chunk); };
      EXPECT_TRUE(at::allclose(part(all), part(expected), 1e-3, 1e-4)) << i;
      // Under noise the past would have given something else.
      const at::Tensor noisy =
          run_window(transformer, prepare_window(window, config.model, noise, history, 0, 7), text);
      if (i > 0) {
        EXPECT_FALSE(at::allclose(part(all), part(noisy), 1e-2, 1e-3)) << i;
      }
    }
  }
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Memories, PastCopiesOf,
                         ::testing::ValuesIn(memory::recurrent_memory_names()),
                         [](const auto& info) { return info.param; });

TEST(PastCopies, ShowGuessesAndAskForTheTruth) {
  const auto folder = write_toy_clips(fresh_folder("copies_guess"), 2, 13);
  const TrainConfig config = TrainConfig::from_json(toy_recipe(folder), "toy");
  const Window window = LatentFolder(folder, 1).window(0, 13);
  const int64_t chunk = config.model.chunk_size;
  GuessedPast guess{window.latents + 5, std::vector<bool>(12 / chunk, true)};
  ChunkNoise noise;
  noise.levels.assign(guess.chunks.size(), 0.5);
  noise.weights.assign(guess.chunks.size(), 1);
  noise.past_levels.assign(guess.chunks.size(), 0);
  const WindowPass guessed = prepare_window(window, config.model, noise, {}, 0, 7, at::kCPU, guess);
  const WindowPass recorded = prepare_window(window, config.model, noise, {}, 0, 7);
  EXPECT_TRUE(guessed.batch.target.equal(recorded.batch.target));
  const at::Tensor difference = guessed.latents - recorded.latents;
  for (const int64_t frame : guessed.outputs) {
    if (frame == 0) continue;
    EXPECT_EQ(difference.select(2, frame).abs().max().item<float>(), 0);
  }
  EXPECT_NEAR(difference.select(2, guessed.outputs[1] + chunk).mean().item<double>(), 5, 1e-5);
  std::filesystem::remove_all(folder);
}

TEST(PastCopies, OfAllAndPresentsOfSome) {
  const std::vector<model::ChunkSpan> chunks = model::window_chunks(9, 2);
  const PastCopies copies = with_past_copies(chunks, {false, true, true, false});
  // Chunk 1 is past alone, chunk 3 the last that is asked, and chunk 4 is seen by no one.
  EXPECT_EQ(copies.frames, (std::vector<int64_t>{0, 1, 2, 3, 4, 3, 4, 5, 6}));
  EXPECT_EQ(copies.outputs(), (std::vector<int64_t>{0, 3, 4, 7, 8}));
  ASSERT_EQ(copies.chunks.size(), 5u);
  const std::vector<std::vector<int64_t>> earlier = {
      {}, {0}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2, 5, 6}};
  for (size_t i = 0; i < copies.chunks.size(); ++i) {
    EXPECT_EQ(copies.chunks[i].earlier, earlier[i]) << i;
    EXPECT_EQ(copies.chunks[i].written, i != 2 && i != 4) << i;
  }
}

// Chunks that are asked for get what they get when all are.
TEST(PastCopies, AnswerAlikeWhoeverElseIsAsked) {
  const auto folder = write_toy_clips(fresh_folder("copies_asked"), 2, 21);
  const TrainConfig config = TrainConfig::from_json(toy_recipe(folder), "toy");
  const auto parameters = std::make_shared<model::Parameters>();
  const model::Transformer transformer(config.model, parameters);
  const at::NoGradGuard no_grad;
  at::manual_seed(1);
  for (const auto& [name, tensor] : parameters->all()) tensor.add_(0.1 * at::randn_like(tensor));
  Window window = LatentFolder(folder, 1).window(0, 21);
  // To the side and back: the last chunks return, the first do not.
  for (size_t i = 0; i < 21; ++i) {
    const double turn = (i <= 10 ? static_cast<double>(i) : 20.0 - static_cast<double>(i)) * 0.13;
    window.cameras[i].pose = {camera::rotation_from_angles(turn, 0), {0, 0, 0}};
  }
  const int64_t chunk = config.model.chunk_size, chunks = 20 / chunk;
  const auto gaps = memory_gaps(window, chunk);
  ASSERT_FALSE(gaps.front());
  ASSERT_TRUE(gaps.back());
  ChunkNoise noise;
  for (int64_t i = 0; i < chunks; ++i) noise.levels.push_back(0.9 - 0.1 * static_cast<double>(i));
  for (int64_t i = 0; i < chunks; ++i) noise.weights.push_back(1 + static_cast<double>(i));
  noise.past_levels.assign(noise.levels.size(), 0.05);
  const at::Tensor text = at::zeros({1, 1, config.model.text_dim});
  HistoryAccessConfig history;
  const WindowPass all = prepare_window(window, config.model, noise, history, 0, 7);
  history.new_share = 0;
  const WindowPass returns = prepare_window(window, config.model, noise, history, 0, 7);
  const at::Tensor expected = run_window(transformer, all, text);
  const at::Tensor found = run_window(transformer, returns, text);
  ASSERT_EQ(returns.asked.size(), gaps.size());
  int64_t at = 0;
  for (int64_t i = 0; i < chunks; ++i) {
    ASSERT_EQ(returns.asked[static_cast<size_t>(i)], gaps[static_cast<size_t>(i)].has_value());
    if (!returns.asked[static_cast<size_t>(i)]) continue;
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
  // A teacher that sees the whole past answers for the same chunks.
  EXPECT_EQ(whole_past(returns, chunk).size(), returns.chunks.size());
  EXPECT_EQ(whole_past(returns, chunk).back().end, returns.chunks.back().end);
  // Where nothing returns, one chunk is still learnt from.
  for (camera::Camera& camera : window.cameras) camera = window.cameras[0];
  const WindowPass still = prepare_window(window, config.model, noise, history, 0, 7);
  EXPECT_EQ(still.batch.target.size(2), 1 + chunk);
  std::filesystem::remove_all(folder);
}

TEST(PastCopies, AreNeededToAskForSome) {
  Json recipe = toy_recipe("clips");
  recipe["phases"][0]["history"] = {{"new_share", 0.5}};
  EXPECT_BAD_INPUT(TrainConfig::from_json(recipe, "toy"), ::testing::HasSubstr("past_copies"));
}

TEST(PastCopies, AreNoCleanShare) {
  Json recipe = toy_recipe("clips");
  recipe["noise"] = {{"past_copies", true}, {"past_share", 0.5}};
  EXPECT_BAD_INPUT(TrainConfig::from_json(recipe, "toy"), ::testing::HasSubstr("past_copies"));
}

}  // namespace
}  // namespace loci::train
