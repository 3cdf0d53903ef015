// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/memory/history/history_policy.h"
#include "loci/memory/patches/context_frame.h"
#include "loci/memory/patches/patch_memory.h"

namespace loci::memory {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// 8x8 latents of 16 pixels, looking at a wall at 4 m.
PixelCamera at_place(double x) { return {{camera::Mat3(), {x, 0, 0}}, {64, 64, 64, 64}}; }

PatchFrame wall(double x, float value) {
  return {at_place(x), at::full({2, 8, 8}, value), at::full({4, 4}, 4.0)};
}

TEST(PatchMemory, MovesLatentsToTheNewView) {
  PatchMemory memory(PatchOptions{});
  memory.add(wall(0, 1));
  // One latent is a metre at 4 m, so a camera two metres to the right sees them two columns left.
  const PixelCamera query = at_place(2);
  const std::vector<int64_t> chosen = memory.choose(query);
  EXPECT_THAT(chosen, Each(0));
  EXPECT_EQ(chosen.size(), 5u);
  const at::Tensor fused = memory.fuse(chosen, query);
  EXPECT_EQ(fused.narrow(2, 0, 6).min().item<float>(), 1);
  EXPECT_EQ(fused.narrow(2, 6, 2).abs().max().item<float>(), 0);
}

TEST(PatchMemory, NothingCoversAViewAway) {
  PatchMemory memory(PatchOptions{});
  memory.add(wall(0, 1));
  PixelCamera back = at_place(0);
  back.pose.rotation = camera::rotation_from_angles(3.14, 0);
  EXPECT_THAT(memory.choose(back), Each(-1));
  EXPECT_EQ(memory.fuse(memory.choose(back), back).abs().max().item<float>(), 0);
}

TEST(PatchMemory, TheFarthestOrTheNearestFrameWins) {
  for (const bool farthest : {true, false}) {
    PatchMemory memory(
        {.selection = PatchOptions::Selection::kPose, .keep_farthest = farthest, .fill_share = 2});
    memory.add(wall(0, 1));
    PatchFrame nearer = wall(0.5, 2);
    nearer.camera = at_place(0);
    nearer.depth = at::full({4, 4}, 2.0);
    memory.add(nearer);
    const at::Tensor fused = memory.fuse({0, 1, 1}, at_place(0));
    EXPECT_EQ(fused.min().item<float>(), farthest ? 1 : 2);
  }
}

TEST(ContextFrame, IsTheOldestOfTheNearestPoses) {
  std::vector<std::pair<int64_t, camera::Pose>> candidates;
  for (int64_t i = 0; i < 10; ++i) {
    candidates.push_back({i, {camera::Mat3(), {static_cast<double>(i), 0, 0}}});
  }
  const std::vector<camera::Pose> targets = {{camera::Mat3(), {7, 0, 0}}};
  EXPECT_EQ(nearest_old_frame(candidates, targets, 1), 7);
  EXPECT_EQ(nearest_old_frame(candidates, targets, 2), 7);  // 8 before 6: the newer of equal ones
  EXPECT_EQ(nearest_old_frame(candidates, targets, 5), 5);
  EXPECT_FALSE(nearest_old_frame({}, targets));
}

// The frames that the last chunk retrieved are replaced slowly, and a saved policy continues alike.
TEST(Frustum, KeepsRetrievedFramesAndItsOrder) {
  const auto make = [] {
    return make_frustum_history({.sink_frames = 2,
                                 .recent_frames = 2,
                                 .retrieved_frames = 2,
                                 .swapped_frames = 1,
                                 .chunk_frames = 2});
  };
  const auto frame = [](int64_t index) {
    HistoryFrame view;
    view.index = index;
    view.camera.pose.rotation = camera::rotation_from_angles(0.35 * static_cast<double>(index), 0);
    return view;
  };
  auto policy = make();
  std::vector<int64_t> seen;
  for (int64_t first = 0; first < 60; first += 2) {
    const std::vector<HistoryFrame> chunk = {frame(first), frame(first + 1)};
    auto restored = make();
    restored->restore(policy->save());
    seen = policy->select(chunk);
    EXPECT_EQ(restored->select(chunk), seen);
    EXPECT_LE(std::ssize(seen), 6);
    for (const HistoryFrame& each : chunk) {
      policy->commit(each);
      restored->commit(each);
    }
    EXPECT_EQ(restored->retained(), policy->retained());
    EXPECT_LE(std::ssize(policy->retained()), policy->stored_frames());
  }
  EXPECT_EQ(seen[0], 0);
  EXPECT_EQ(seen[1], 1);
  EXPECT_EQ(seen.back(), 57);
}

}  // namespace
}  // namespace loci::memory
