// SPDX-License-Identifier: Apache-2.0
// The stages of a training window that draw random numbers.
#include "loci/train/windows/window_stages.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"
#include "loci/memory/history/history_registry.h"
#include "loci/train/windows/target_chunks.h"

#include "tests/base/expect_error.h"

namespace loci::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The stages "noise" and "past".
ChunkNoise draw(const NoiseConfig& noise, const PastConfig& past, int64_t chunks, Random& random,
                const std::vector<bool>& generated = {}) {
  return draw_past(past, noise, draw_noise_levels(noise, chunks, random), generated, random);
}

TEST(NoiseStage, FollowsItsDistribution) {
  NoiseConfig config;
  config.shift = 5;
  Random random(1);
  double sum = 0;
  for (int i = 0; i < 4000; ++i) {
    for (const double level : draw_noise_levels(config, 4, random)) {
      ASSERT_GT(level, 0);
      ASSERT_LE(level, 1);
      sum += level;
    }
  }
  // The mean of 5s/(1+4s) over uniform s is 5/4 (1 - ln 5 / 4).
  EXPECT_NEAR(sum / 16000, 1.25 * (1 - std::log(5.0) / 4), 0.01);
}

TEST(NoiseStage, MakesAShareOfChunksPureNoise) {
  NoiseConfig config;
  config.full_share = 0.7;
  Random random{4};
  int full = 0;
  for (int i = 0; i < 4000; ++i) {
    for (const double level : draw_noise_levels(config, 3, random)) full += level == 1 ? 1 : 0;
  }
  EXPECT_NEAR(full / 12000.0, 0.7, 0.02);
}

TEST(PastStage, MakesChunksBeforeARandomOneCleaner) {
  NoiseConfig noise;
  noise.shift = 1;
  const InPlacePast past{.prefix_share = 1, .noise_factor = 0.2};
  Random random(2);
  double first = 0, last = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::vector<double> levels = draw(noise, past, 4, random).levels;
    first += levels.front();
    last += levels.back();
  }
  EXPECT_NEAR(last / 4000, 0.5, 0.02);
  EXPECT_NEAR(first / 4000, 0.25 * 0.5 + 0.75 * 0.1, 0.02);
}

TEST(PastStage, MakesSingleChunksCleaner) {
  NoiseConfig noise;
  noise.shift = 1;
  InPlacePast past{.chunk_share = 0.75, .noise_factor = 0.1};
  Random random(3);
  double sum = 0;
  for (int i = 0; i < 4000; ++i) {
    for (const double level : draw(noise, past, 3, random).levels) sum += level;
  }
  EXPECT_NEAR(sum / 12000, 0.25 * 0.5 + 0.75 * 0.05, 0.01);
  past.loss_weight = 0.5;
  past.chunk_share = 1;
  EXPECT_THAT(draw(noise, past, 2, random).weights, ElementsAre(0.5, 0.5));
}

TEST(PastStage, GeneratedChunksAreCleanerAndHaveNoLoss) {
  NoiseConfig noise;
  noise.shift = 1;
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    const ChunkNoise drawn =
        draw(noise, InPlacePast{.noise_factor = 0.1}, 2, random, {true, false});
    EXPECT_LE(drawn.levels[0], 0.1);
    EXPECT_THAT(drawn.weights, ElementsAre(0, 1));
    EXPECT_TRUE(drawn.copy_levels.empty());
  }
}

TEST(PastStage, CleanCopiesHaveTheirOwnLevels) {
  Random random{4};
  for (int i = 0; i < 100; ++i) {
    const ChunkNoise drawn = draw(NoiseConfig(), CleanCopies{.noise_factor = 0.1}, 3, random);
    EXPECT_THAT(drawn.weights, ElementsAre(1, 1, 1));
    ASSERT_EQ(drawn.copy_levels.size(), 3u);
    for (const double level : drawn.copy_levels) EXPECT_LE(level, 0.1);
  }
}

TEST(PastStage, EachKindHasItsOwnKeys) {
  const auto read = [](const Json& json) {
    const ConfigReader reader(json, "recipe: past");
    const PastConfig past = read_past(reader);
    reader.finish();
    return past;
  };
  EXPECT_TRUE(std::holds_alternative<InPlacePast>(read(Json::object())));
  const PastConfig copies = read({{"kind", "clean_copies"}, {"new_share", 0.25}});
  EXPECT_EQ(std::get<CleanCopies>(copies).new_share, 0.25);
  EXPECT_BAD_INPUT(read({{"kind", "clean_copies"}, {"prefix_share", 0.5}}),
                   HasSubstr("known keys: kind, new_share, noise_factor"));
  EXPECT_BAD_INPUT(read({{"new_share", 0.5}}), HasSubstr("unknown key 'new_share'"));
  EXPECT_BAD_INPUT(read({{"kind", "copies"}}), HasSubstr("clean_copies"));
}

// Rotates by 80 degrees and back, in 13 latents.
Window there_and_back() {
  Window window;
  for (int i = 0; i < 13; ++i) {
    const double degrees = i <= 6 ? i * 80.0 / 6 : (12 - i) * 80.0 / 6;
    window.cameras.push_back(
        {.pose = {camera::rotation_from_angles(degrees * M_PI / 180, 0), {0, 0, 0}}, .lens = {}});
  }
  return window;
}

TEST(TargetStage, MeasuresTheTimeSinceAViewWasSeenAndLeft) {
  const auto gaps = return_gaps(there_and_back(), 4);
  ASSERT_EQ(gaps.size(), 3u);
  EXPECT_FALSE(gaps[0]);
  ASSERT_TRUE(gaps[2]);
  EXPECT_NEAR(*gaps[2], 3.0, 1e-9);  // frame 12 shows the view of frame 0
}

TEST(TargetStage, ReturnsAreAlwaysTargets) {
  const Window window = there_and_back();
  int targets = 0;
  for (uint64_t key = 0; key < 400; ++key) {
    const std::vector<bool> drawn =
        draw_target_chunks(CleanCopies{.new_share = 0.25}, window, 4, key);
    ASSERT_EQ(drawn.size(), 3u);
    EXPECT_TRUE(drawn[2]);
    targets += drawn[0] ? 1 : 0;
  }
  EXPECT_NEAR(targets / 400.0, 0.25, 0.1);
  EXPECT_TRUE(draw_target_chunks(CleanCopies(), window, 4, 1).empty());
  EXPECT_TRUE(draw_target_chunks(InPlacePast(), window, 4, 1).empty());
  // Without returns, the last chunk is the target.
  Window still;
  still.cameras.resize(13);
  EXPECT_THAT(draw_target_chunks(CleanCopies{.new_share = 0}, still, 4, 1),
              ElementsAre(false, false, true));
}

// Latents of three tokens per frame, without motion.
Window window_of(int64_t frames) {
  Window window;
  window.latents = at::zeros({1, frames, 2, 6});
  window.cameras.resize(static_cast<size_t>(frames));
  return window;
}

TEST(HistoryStage, BoundsTheVisibleHistory) {
  Window window = window_of(41);
  for (int i = 0; i < 41; ++i) {
    window.cameras[i].pose.rotation = camera::rotation_from_angles(0.2 * i, 0);
  }
  HistoryConfig bounded;
  bounded.bounded_share = 1;
  bounded.bank_frames = {4};
  bounded.recent_frames = {2};
  const model::TransformerConfig model;
  const auto chunks = draw_visible_history(bounded, window, model, 1);
  ASSERT_EQ(chunks.size(), 9u);
  const model::ChunkSpan& last = chunks.back();
  EXPECT_EQ(last.earlier.size(), 7u);  // frame 0, four of the bank, two recent
  EXPECT_EQ(last.earlier.front(), 0);
  EXPECT_EQ(last.earlier.back(), 35);
  ASSERT_TRUE(last.rotation.has_value());
  EXPECT_EQ(last.rotation->cosine.size(0), 21);  // three tokens per frame
  // Keys of a whole past keep their times.
  for (const model::ChunkSpan& chunk : draw_visible_history(HistoryConfig(), window, model, 1)) {
    EXPECT_EQ(std::ssize(chunk.earlier), chunk.begin);
    EXPECT_FALSE(chunk.rotation.has_value());
  }
}

// Frame 0 and every tenth frame.
class EveryTenth : public memory::HistoryPolicy {
 public:
  std::string_view name() const override { return "every_tenth"; }
  int64_t frame_budget() const override { return 100; }
  void commit(const memory::HistoryFrame& frame) override {
    if (frame.index % 10 == 0) frames_.push_back({frame, memory::FrameRole::kBank});
  }
  std::vector<int64_t> select(std::span<const memory::HistoryFrame>) const override {
    return retained();
  }
  std::vector<int64_t> retained() const override {
    std::vector<int64_t> all;
    for (const memory::RetainedFrame& each : frames_) all.push_back(each.frame.index);
    return all;
  }
  std::unique_ptr<memory::HistoryPolicy> clone() const override {
    return std::make_unique<EveryTenth>(*this);
  }
  std::vector<memory::RetainedFrame> save() const override { return frames_; }
  void restore(std::vector<memory::RetainedFrame> frames) override { frames_ = std::move(frames); }

 private:
  std::vector<memory::RetainedFrame> frames_;
};

TEST(HistoryStage, AcceptsRegisteredPolicies) {
  memory::register_history({"every_tenth", "every tenth frame", [](const memory::HistoryOptions&) {
                              return std::make_unique<EveryTenth>();
                            }});
  const ConfigReader reader(
      Json{{"bounded_share", 1.0}, {"policies", {"every_tenth"}}, {"recent_frames", {2}}},
      "recipe");
  const HistoryConfig config = HistoryConfig::from(reader);
  const auto chunks = draw_visible_history(config, window_of(41), model::TransformerConfig(), 1);
  EXPECT_THAT(chunks.back().earlier, ElementsAre(0, 10, 20, 30));
  EXPECT_TRUE(chunks.back().rotation.has_value());
}

TEST(HistoryStage, RejectsPoliciesThatCannotBeUsed) {
  const auto read = [](const Json& json) {
    return HistoryConfig::from(ConfigReader(json, "recipe"));
  };
  EXPECT_BAD_INPUT(
      read({{"policies", {"lru"}}}),
      HasSubstr("recipe: policies: unknown history policy 'lru'; choose one of: dense"));
  EXPECT_BAD_INPUT(read({{"policies", {"content"}}}), HasSubstr("choose a policy that selects by"));
  // The bank of one of the combinations is too small.
  EXPECT_BAD_INPUT(read({{"policies", {"pinned"}}, {"bank_frames", {20, 9}}}),
                   HasSubstr("10 anchor frames and has a bank of 9"));
  EXPECT_BAD_INPUT(read({{"bank_frames", {-1}}}), HasSubstr("bank_frames has -1"));
}

TEST(WindowStages, ValidationUsesTheRecordedPastAndAllChunks) {
  WindowStages stages;
  stages.generated_share = 0.5;
  stages.past = CleanCopies{.noise_factor = 0.1, .new_share = 0.25};
  stages.caption_dropout = 0.1;
  stages.history.bounded_share = 0.5;
  const WindowStages validation = stages.for_validation();
  EXPECT_EQ(validation.generated_share, 0);
  EXPECT_EQ(validation.caption_dropout, 0);
  EXPECT_EQ(std::get<CleanCopies>(validation.past).new_share, 1);
  EXPECT_EQ(std::get<CleanCopies>(validation.past).noise_factor, 0.1);
  EXPECT_EQ(validation.history.bounded_share, 0.5);
}

}  // namespace
}  // namespace loci::train
