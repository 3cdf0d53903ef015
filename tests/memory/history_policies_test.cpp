// SPDX-License-Identifier: Apache-2.0
// What holds for every history policy, whatever it keeps.
#include <algorithm>
#include <numbers>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/memory/history/history_policy.h"

#include "tests/base/expect_error.h"

namespace loci::memory {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Not;

constexpr double kDegree = std::numbers::pi / 180;

// A walk on a circle of 10 m radius, once around in 120 frames, looking ahead.
FrameView walk(int64_t frame) {
  const double angle = static_cast<double>(frame) * 3 * kDegree;
  FrameView view;
  view.frame = frame;
  view.pose.rotation = camera::rotation_from_angles(angle, 0);
  view.pose.position = {10 * (1 - std::cos(angle)), 0, 10 * std::sin(angle)};
  view.lens.fov_x = 90 * kDegree;
  // What a frame shows depends on where it is on the circle.
  const auto direction = at::tensor({std::cos(angle), std::sin(angle)}, at::kFloat);
  view.key = direction.view({1, 2});
  view.query = direction.view({1, 2});
  return view;
}

std::vector<FrameView> chunk(int64_t first) {
  std::vector<FrameView> views;
  for (int64_t i = 0; i < 5; ++i) views.push_back(walk(first + i));
  return views;
}

void commit(HistoryPolicy& policy, int64_t begin, int64_t end) {
  for (int64_t frame = begin; frame < end; ++frame) policy.commit(walk(frame));
}

class EveryHistory : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<HistoryPolicy> make(int64_t budget = 29, int64_t archive = 0) const {
    return make_history({.kind = GetParam(), .budget = budget, .archive = archive});
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, EveryHistory, ::testing::ValuesIn(history_names()),
                         [](const auto& info) { return info.param; });

TEST_P(EveryHistory, KeepsItsPromises) {
  const auto policy = make();
  EXPECT_EQ(policy->frame_budget(), GetParam() == "dense" ? 0 : 29);
  EXPECT_THAT(policy->select(chunk(0)), IsEmpty());
  EXPECT_THAT(policy->retained(), IsEmpty());
  policy->commit(walk(0));
  EXPECT_THAT(policy->select(chunk(1)), ElementsAre(0));
  std::vector<int64_t> before = {0};
  for (int64_t first = 1; first < 300; first += 5) {
    commit(*policy, first, first + 5);
    const std::vector<int64_t> seen = policy->select(chunk(first + 5));
    const std::vector<int64_t> kept = policy->retained();
    ASSERT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    ASSERT_TRUE(std::is_sorted(kept.begin(), kept.end()));
    ASSERT_TRUE(std::includes(kept.begin(), kept.end(), seen.begin(), seen.end()));
    // Frame 0 and the newest frames are always there, nothing comes twice or from the future.
    EXPECT_EQ(seen.front(), 0);
    EXPECT_EQ(seen.back(), first + 4);
    EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
    const auto count = static_cast<int64_t>(seen.size());
    if (policy->bounded()) {
      EXPECT_LE(count, policy->frame_budget());
    }
    if (policy->stored_frames() > 0) {
      EXPECT_LE(static_cast<int64_t>(kept.size()), policy->stored_frames());
    }
    // What was forgotten does not come back.
    for (const int64_t frame : kept) {
      if (frame < first) {
        EXPECT_THAT(before, Contains(frame));
      }
    }
    before = kept;
  }
}

TEST_P(EveryHistory, CopiesAndSavedOnesGoOnAlike) {
  const auto policy = make(20);
  commit(*policy, 0, 101);
  const auto copy = policy->clone();
  const auto restored = make(20);
  commit(*restored, 0, 7);  // forgotten by restore()
  restored->restore(policy->save());
  const auto untouched = policy->retained();
  for (int64_t first = 101; first < 201; first += 5) {
    EXPECT_EQ(copy->select(chunk(first)), restored->select(chunk(first)));
    EXPECT_EQ(copy->retained(), restored->retained());
    commit(*copy, first, first + 5);
    commit(*restored, first, first + 5);
  }
  EXPECT_EQ(policy->retained(), untouched);
  commit(*policy, 101, 201);
  EXPECT_EQ(policy->retained(), copy->retained());
}

TEST_P(EveryHistory, TellsWhereItsFramesWereTaken) {
  const auto policy = make(20);
  commit(*policy, 0, 101);
  const auto restored = make(20);
  restored->restore(policy->save());
  for (const HistoryPolicy* each : {policy.get(), restored.get()}) {
    std::vector<int64_t> frames;
    for (const HeldFrame& held : each->save()) {
      frames.push_back(held.view.frame);
      EXPECT_EQ(held.view.pose.position, walk(held.view.frame).pose.position);
      EXPECT_EQ(held.view.lens.fov_x, walk(held.view.frame).lens.fov_x);
      EXPECT_EQ(held.role == 0,
                held.view.frame == 0 || (GetParam() == "window" && held.view.frame < 6));
    }
    EXPECT_EQ(frames, each->retained());
  }
}

TEST_P(EveryHistory, RefusesImpossiblePasts) {
  const auto policy = make(20);
  std::vector<HeldFrame> twice(2);
  for (HeldFrame& held : twice) held.view = walk(3);
  EXPECT_BAD_INPUT(policy->restore(twice), HasSubstr("saved history"));
  std::vector<HeldFrame> many(300'000);
  if (policy->stored_frames() == 0) return;
  for (size_t i = 0; i < many.size(); ++i) many[i].view.frame = static_cast<int64_t>(i);
  EXPECT_BAD_INPUT(policy->restore(many), HasSubstr("keeps at most"));
}

TEST(Histories, DivideOneBudget) {
  for (const std::string& kind : history_names()) {
    if (kind == "dense") continue;
    EXPECT_EQ(make_history({.kind = kind, .budget = 20})->frame_budget(), 20) << kind;
  }
  EXPECT_BAD_INPUT(make_history({.kind = "all"}), HasSubstr("choose one of: dense, sparse"));
  EXPECT_BAD_INPUT(make_history({.budget = -1}), HasSubstr("choose 0 (none)"));
  EXPECT_BAD_INPUT(make_history({.kind = "all", .budget = 0}), HasSubstr("choose one of"));
  // Without recent frames: nothing, or the first frame alone, whatever the kind.
  for (const int64_t budget : {0, 1}) {
    const auto policy = make_history({.kind = "sparse", .budget = budget});
    EXPECT_TRUE(policy->bounded());
    for (int64_t frame = 0; frame < 12; ++frame) policy->commit({.frame = frame});
    EXPECT_EQ(policy->select({}), std::vector<int64_t>(static_cast<size_t>(budget), 0));
    EXPECT_EQ(policy->clone()->retained().size(), static_cast<size_t>(budget));
    policy->restore(policy->save());
  }
  EXPECT_BAD_INPUT(make_history({.budget = 8, .recent = 8}), HasSubstr("at least one"));
  EXPECT_BAD_INPUT(make_history({.archive = -1}), HasSubstr("archive of -1"));
}

TEST(Histories, ABudgetHasTheUsualRecentFramesOrAllButTheFirst) {
  HistoryOptions options;
  for (const auto& [budget, recent] : {std::pair{0, 0}, {1, 0}, {2, 1}, {5, 4}, {9, 8}, {29, 8}}) {
    options.set_budget(budget);
    EXPECT_EQ(options.budget, budget);
    EXPECT_EQ(options.recent, recent) << budget;
    make_history(options);
  }
}

TEST(DenseHistory, WantsEveryFrame) {
  const auto policy = make_dense_history();
  std::vector<HeldFrame> gap(2);
  gap.back().view = walk(5);
  EXPECT_BAD_INPUT(policy->restore(gap), HasSubstr("lacks frame 1"));
}

TEST(SinkWindow, KeepsBothEnds) {
  const auto policy = make_sink_window({.sink_frames = 2, .recent_frames = 3});
  commit(*policy, 0, 50);
  EXPECT_THAT(policy->retained(), ElementsAre(0, 1, 47, 48, 49));
}

TEST(OverlapRetrieval, FindsWhatTheUpcomingViewSees) {
  const auto policy = make_overlap_retrieval({.retrieved_frames = 4, .recent_frames = 4});
  commit(*policy, 0, 120);
  // Once around the circle: the frames of the first metres look the same way from the same place.
  std::vector<int64_t> seen = policy->select(std::vector<FrameView>{walk(130)});
  seen.erase(seen.end() - 4, seen.end());
  seen.erase(seen.begin());
  ASSERT_EQ(seen.size(), 4u);
  for (const int64_t frame : seen) EXPECT_NEAR(static_cast<double>(frame), 10, 8);
  // From far away nothing overlaps.
  FrameView far = walk(130);
  far.pose.position.x += 1000;
  EXPECT_THAT(policy->select(std::vector<FrameView>{far}), ElementsAre(0, 116, 117, 118, 119));
}

// Three times around the circle, shown at first: what was made of the same views comes second, and
// where nothing was shown it is what there is.
TEST(OverlapRetrieval, PrefersWhatWasShownToWhatWasMade) {
  RetrievalOptions options{.retrieved_frames = 3, .recent_frames = 2};
  const auto walk_around = [&] {
    auto policy = make_overlap_retrieval(options);
    for (int64_t frame = 0; frame < 300; ++frame) {
      FrameView view = walk(frame);
      if (frame < 120) view.origin = Origin::kGiven;
      policy->commit(view);
    }
    return policy;
  };
  const auto retrieved = [](const HistoryPolicy& policy, int64_t upcoming) {
    std::vector<int64_t> seen = policy.select(std::vector<FrameView>{walk(upcoming)});
    return std::vector<int64_t>(seen.begin() + 1, seen.end() - 2);
  };
  const auto policy = walk_around();
  EXPECT_THAT(retrieved(*policy, 300), Each(Lt(120)));
  // A full archive keeps what was shown and gives up what was made of it.
  options.archive_frames = 130;
  const auto limited = walk_around();
  EXPECT_THAT(retrieved(*limited, 300), Each(Lt(120)));
  EXPECT_GE(std::ranges::count_if(limited->retained(), [](int64_t frame) { return frame < 120; }),
            115);
  // As do their copies from a file.
  const auto restored = make_overlap_retrieval(options);
  restored->restore(limited->save());
  EXPECT_EQ(retrieved(*restored, 300), retrieved(*limited, 300));
  const auto made = make_overlap_retrieval({.retrieved_frames = 3, .recent_frames = 2});
  commit(*made, 0, 300);
  EXPECT_THAT(retrieved(*made, 300), Contains(Ge(120)));
}

TEST(Landmarks, StandApartAndTheNearestComes) {
  const RetrievalOptions options{
      .retrieved_frames = 2, .recent_frames = 4, .archive_frames = 30, .landmark_distance = 2};
  const auto policy = make_landmarks(options);
  commit(*policy, 0, 120);
  // 62.8 m around, a landmark every 2 m at least: far fewer than frames.
  const std::vector<int64_t> kept = policy->retained();
  EXPECT_LE(kept.size(), 35u);
  EXPECT_GE(kept.size(), 20u);
  const std::vector<int64_t> seen = policy->select(std::vector<FrameView>{walk(160)});
  EXPECT_NEAR(static_cast<double>(seen[1]), 40, 8);
  EXPECT_NEAR(static_cast<double>(seen[2]), 40, 8);
}

TEST(ContentRetrieval, FindsTheSameContent) {
  const auto policy =
      make_content_retrieval({.retrieved_frames = 3, .recent_frames = 2, .archive_frames = 1000});
  commit(*policy, 0, 150);
  // The newest frames, 148 and 149, show what 28 and 29 showed a turn before.
  const std::vector<int64_t> seen = policy->select({});
  EXPECT_THAT(seen, Contains(28));
  EXPECT_THAT(seen, Contains(29));
  EXPECT_THAT(seen, Not(Contains(90)));
  FrameView bare = walk(150);
  bare.key = at::Tensor();
  EXPECT_INTERNAL_ERROR(policy->commit(bare), HasSubstr("without its content"));
}

// A limited archive keeps all of the circle in sight, if less densely; a day later, too.
TEST(OverlapRetrieval, AFullArchiveForgetsWhatOthersShow) {
  const RetrievalOptions options{.retrieved_frames = 2, .recent_frames = 2, .archive_frames = 24};
  const auto policy = make_overlap_retrieval(options);
  EXPECT_EQ(policy->stored_frames(), 27);
  for (const int64_t end : {120, 480}) {
    commit(*policy, end == 120 ? 0 : 120, end);
    const std::vector<int64_t> kept = policy->retained();
    EXPECT_EQ(kept.size(), 27u);
    std::vector<int64_t> places;  // on the circle
    for (const int64_t frame : kept) places.push_back(frame % 120);
    std::ranges::sort(places);
    places.push_back(places.front() + 120);
    for (size_t i = 1; i < places.size(); ++i) EXPECT_LE(places[i] - places[i - 1], 14) << end;
  }
  // What is forgotten follows from what is kept: a restored one goes on alike.
  const auto restored = make_overlap_retrieval(options);
  restored->restore(policy->save());
  commit(*policy, 480, 520);
  commit(*restored, 480, 520);
  EXPECT_EQ(restored->retained(), policy->retained());
  // Places that have nothing in common give way to newer ones.
  const auto apart = make_overlap_retrieval({.recent_frames = 1, .archive_frames = 3});
  for (int64_t frame = 0; frame < 8; ++frame) {
    FrameView view = walk(frame);
    view.pose.position.x += 100.0 * static_cast<double>(frame);
    apart->commit(view);
  }
  EXPECT_THAT(apart->retained(), ElementsAre(0, 4, 5, 6, 7));
}

TEST(Retrieval, ArchiveForgetsTheOldest) {
  const auto policy =
      make_content_retrieval({.retrieved_frames = 2, .recent_frames = 2, .archive_frames = 3});
  EXPECT_EQ(policy->stored_frames(), 6);
  commit(*policy, 0, 20);
  EXPECT_THAT(policy->retained(), ElementsAre(0, 15, 16, 17, 18, 19));
}

}  // namespace
}  // namespace loci::memory
