// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/memory/history/history_policy.h"

#include "tests/base/expect_error.h"

namespace loci::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kDegree = std::numbers::pi / 180;

HistoryFrame view(int64_t frame, double yaw_degrees, double x = 0) {
  HistoryFrame v;
  v.index = frame;
  v.camera.pose.rotation = camera::rotation_from_angles(yaw_degrees * kDegree, 0);
  v.camera.pose.position = {x, 0, 0};
  v.camera.lens.fov_x = 90 * kDegree;
  return v;
}

SparseOptions options(int64_t bank, int64_t recent) {
  return {.bank_frames = bank, .recent_frames = recent};
}

// A policy after frames with these yaw angles.
std::unique_ptr<HistoryPolicy> after(const SparseOptions& chosen, const std::vector<double>& yaws) {
  auto policy = make_sparse_history(chosen);
  for (size_t i = 0; i < yaws.size(); ++i) {
    policy->commit(view(static_cast<int64_t>(i), yaws[i]));
  }
  return policy;
}

TEST(DenseHistory, KeepsAllFrames) {
  const auto policy = make_dense_history();
  EXPECT_FALSE(policy->bounded());
  EXPECT_THAT(policy->select({}), IsEmpty());
  for (int64_t i = 0; i < 4; ++i) policy->commit(view(i, 0));
  const auto copy = policy->clone();
  copy->commit(view(4, 0));
  EXPECT_THAT(policy->select({}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(copy->retained(), ElementsAre(0, 1, 2, 3, 4));
}

TEST(SparseHistory, KeepsFirstAndRecentFrames) {
  const auto policy = after(options(4, 3), {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(policy->frame_budget(), 1 + 4 + 3);
  EXPECT_TRUE(policy->bounded());
  // Frames 1 and 2 left the recent window; frame 0 covers their directions.
  EXPECT_THAT(policy->select({}), ElementsAre(0, 3, 4, 5));
  EXPECT_EQ(policy->retained(), policy->select({}));
}

TEST(SparseHistory, UncoveredFramesJoinTheBankWhenTheyLeaveTheWindow) {
  // At 90 degrees nothing is covered; 10 degrees further most directions are.
  const auto policy = after(options(4, 1), {0, 90, 100, 180});
  EXPECT_THAT(policy->select({}), ElementsAre(0, 1, 3));
  // At 45 degrees half of the directions are new: more than 0.3.
  EXPECT_THAT(after(options(4, 1), {0, 45, 0})->select({}), ElementsAre(0, 1, 2));
}

TEST(SparseHistory, DistantFramesDoNotCover) {
  auto policy = make_sparse_history(options(4, 0));
  policy->commit(view(0, 0));
  policy->commit(view(1, 0, 5.99));  // covered from 5.99 m away
  EXPECT_THAT(policy->select({}), ElementsAre(0));
  policy->commit(view(2, 0, 6));  // "closer than" the radius is strict
  EXPECT_THAT(policy->select({}), ElementsAre(0, 2));
}

TEST(SparseHistory, AFullBankDropsTheBestCoveredFrame) {
  // The frames at 90 and 180 degrees cover most of the one at 135 degrees; no frame covers theirs.
  SparseOptions all = options(2, 0);
  all.new_coverage = 0;
  const auto policy = after(all, {0, 135, 90});
  EXPECT_THAT(policy->select({}), ElementsAre(0, 1, 2));
  const auto fuller = policy->clone();
  fuller->commit(view(3, 180));
  EXPECT_THAT(fuller->select({}), ElementsAre(0, 2, 3));
  EXPECT_THAT(policy->select({}), ElementsAre(0, 1, 2));
}

TEST(SparseHistory, OfEqualFramesTheNewerIsDropped) {
  // Two identical frames cover each other completely. The second joins only because new_coverage is
  // 0, which admits every frame.
  SparseOptions all = options(2, 0);
  all.new_coverage = 0;
  EXPECT_THAT(after(all, {0, 90, 180, 180})->select({}), ElementsAre(0, 1, 2));
  EXPECT_THAT(after(all, {0, 90, 90, 180})->select({}), ElementsAre(0, 1, 3));
}

TEST(SparseHistory, BudgetsOfZeroAreAllowed) {
  EXPECT_THAT(after(options(0, 0), {0, 90, 180})->select({}), ElementsAre(0));
  EXPECT_THAT(after(options(0, 2), {0, 90, 180, 270})->select({}), ElementsAre(0, 2, 3));
  EXPECT_THAT(make_sparse_history(options(0, 0))->select({}), IsEmpty());
  EXPECT_EQ(make_sparse_history(options(0, 0))->frame_budget(), 1);
}

TEST(PinnedHistory, AnchorsJoinAndStay) {
  SparseOptions pinned = options(12, 0);
  pinned.pin_anchors = true;
  EXPECT_EQ(make_sparse_history(pinned)->name(), "pinned");
  // Without movement only the anchors join, although all their directions are covered.
  EXPECT_THAT(after(pinned, std::vector<double>(100, 0))->select({}),
              ElementsAre(0, 1, 9, 17, 25, 33, 41, 49, 57, 65, 73));
  // While the camera turns, other frames fill the bank, but the anchors stay.
  std::vector<double> yaws;
  for (int i = 0; i < 200; ++i) yaws.push_back(i * 37.0);
  const std::vector<int64_t> kept = after(pinned, yaws)->select({});
  EXPECT_LE(kept.size(), 13U);
  for (int64_t anchor = 1; anchor <= 73; anchor += 8) {
    EXPECT_THAT(kept, ::testing::Contains(anchor));
  }
}

TEST(PinnedHistory, RejectsABankThatIsTooSmallForTheAnchors) {
  SparseOptions pinned = options(9, 8);
  pinned.pin_anchors = true;
  EXPECT_BAD_INPUT(make_sparse_history(pinned), HasSubstr("10 anchor frames"));
}

TEST(SparseHistory, NeverExceedsItsBudget) {
  auto policy = make_sparse_history(options(5, 3));
  for (int64_t i = 0; i < 300; ++i) {
    policy->commit(view(i, static_cast<double>(i) * 47.0, static_cast<double>(i) * 0.3));
    const std::vector<int64_t> kept = policy->select({});
    EXPECT_LE(static_cast<int64_t>(kept.size()), policy->frame_budget());
    EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
    EXPECT_EQ(kept.front(), 0);
  }
}

}  // namespace
}  // namespace loci::memory
