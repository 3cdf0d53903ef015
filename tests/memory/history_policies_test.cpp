// SPDX-License-Identifier: Apache-2.0
// Properties of every history policy, then tests of single policies.
#include <algorithm>
#include <numbers>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/memory/history/history_registry.h"

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

// A walk on a circle of 10 m radius with 120 frames per round, looking ahead.
HistoryFrame walk(int64_t frame) {
  const double angle = static_cast<double>(frame) * 3 * kDegree;
  HistoryFrame view;
  view.index = frame;
  view.camera.pose.rotation = camera::rotation_from_angles(angle, 0);
  view.camera.pose.position = {10 * (1 - std::cos(angle)), 0, 10 * std::sin(angle)};
  view.camera.lens.fov_x = 90 * kDegree;
  // The content of a frame depends on its position on the circle.
  const auto direction = at::tensor({std::cos(angle), std::sin(angle)}, at::kFloat);
  view.key = direction.view({1, 2});
  view.query = direction.view({1, 2});
  return view;
}

std::vector<HistoryFrame> chunk(int64_t first) {
  std::vector<HistoryFrame> views;
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

TEST_P(EveryHistory, SelectsRetainedFramesWithinItsBudget) {
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
    // Frame 0 and the newest frame are always selected; no frame is repeated or in the future.
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
    // Dropped frames do not return.
    for (const int64_t frame : kept) {
      if (frame < first) {
        EXPECT_THAT(before, Contains(frame));
      }
    }
    before = kept;
  }
}

TEST_P(EveryHistory, ClonesAndRestoredPoliciesContinueAlike) {
  const auto policy = make(20);
  commit(*policy, 0, 101);
  const auto copy = policy->clone();
  const auto restored = make(20);
  commit(*restored, 0, 7);  // replaced by restore()
  restored->restore(policy->save());
  const auto untouched = policy->retained();
  for (int64_t first = 101; first < 201; first += 5) {
    EXPECT_EQ(copy->select(chunk(first)), restored->select(chunk(first)));
    EXPECT_EQ(copy->retained(), restored->retained());
    commit(*copy, first, first + 5);
    commit(*restored, first, first + 5);
  }
  EXPECT_EQ(policy->retained(), untouched);
  for (int64_t first = 101; first < 201; first += 5) {
    policy->select(chunk(first));  // frustum drops the frames that a chunk does not attend to
    commit(*policy, first, first + 5);
  }
  EXPECT_EQ(policy->retained(), copy->retained());
}

TEST_P(EveryHistory, SavesCamerasAndRolesOfItsFrames) {
  const auto policy = make(20);
  commit(*policy, 0, 101);
  const auto restored = make(20);
  restored->restore(policy->save());
  for (const HistoryPolicy* each : {policy.get(), restored.get()}) {
    std::vector<int64_t> frames;
    for (const RetainedFrame& held : each->save()) {
      frames.push_back(held.frame.index);
      EXPECT_EQ(held.frame.camera.pose.position, walk(held.frame.index).camera.pose.position);
      EXPECT_EQ(held.frame.camera.lens.fov_x, walk(held.frame.index).camera.lens.fov_x);
      const bool long_sink = GetParam() == "window" || GetParam() == "frustum";
      EXPECT_EQ(held.role == FrameRole::kSink, held.frame.index < (long_sink ? 6 : 1));
    }
    EXPECT_EQ(frames, each->retained());
  }
}

TEST_P(EveryHistory, RejectsInvalidSavedFrames) {
  const auto policy = make(20);
  std::vector<RetainedFrame> twice(2);
  for (RetainedFrame& held : twice) held.frame = walk(3);
  EXPECT_BAD_INPUT(policy->restore(twice), HasSubstr("saved history"));
  std::vector<RetainedFrame> many(300'000);
  if (policy->stored_frames() == 0) return;
  for (size_t i = 0; i < many.size(); ++i) many[i].frame.index = static_cast<int64_t>(i);
  EXPECT_BAD_INPUT(policy->restore(many), HasSubstr("keeps at most"));
}

// A policy that retains nothing.
class Forgetful : public HistoryPolicy {
 public:
  explicit Forgetful(int64_t budget) : budget_(budget) {}
  std::string_view name() const override { return "forgetful"; }
  int64_t frame_budget() const override { return budget_; }
  void commit(const HistoryFrame&) override {}
  std::vector<int64_t> select(std::span<const HistoryFrame>) const override { return {}; }
  std::vector<int64_t> retained() const override { return {}; }
  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<Forgetful>(*this);
  }
  std::vector<RetainedFrame> save() const override { return {}; }
  void restore(std::vector<RetainedFrame>) override {}

 private:
  int64_t budget_;
};

TEST(HistoryRegistry, RegisteredPoliciesAreMadeByName) {
  const size_t built_in = history_names().size();
  register_history({"forgetful", "retains nothing", [](const HistoryOptions& options) {
                      return std::make_unique<Forgetful>(options.budget);
                    }});
  EXPECT_EQ(history_names().size(), built_in + 1);
  EXPECT_EQ(history_kinds().back().description, "retains nothing");
  EXPECT_EQ(make_history({.kind = "forgetful", .budget = 12})->frame_budget(), 12);
  EXPECT_EQ(make_training_history({.kind = "forgetful", .budget = 5, .recent = 0})->name(),
            "forgetful");
  EXPECT_BAD_INPUT(make_history({.kind = "absent"}), HasSubstr("frustum, forgetful"));
  EXPECT_INTERNAL_ERROR(register_history({"sparse", "", {}}),
                        HasSubstr("history policy 'sparse' is registered already"));
  // Selection by content needs a model.
  EXPECT_BAD_INPUT(make_training_history({.kind = "content"}), HasSubstr("selects frames by"));
}

TEST(HistoryRegistry, PoliciesKeepToTheBudget) {
  for (const std::string kind : {"sparse", "pinned", "window", "overlap", "plain_overlap",
                                 "landmarks", "content", "frustum"}) {
    EXPECT_EQ(make_history({.kind = kind, .budget = 20})->frame_budget(), 20) << kind;
  }
  EXPECT_BAD_INPUT(make_history({.kind = "all"}), HasSubstr("choose one of: dense, sparse"));
  EXPECT_BAD_INPUT(make_history({.budget = -1}), HasSubstr("choose 0 (none)"));
  EXPECT_BAD_INPUT(make_history({.kind = "all", .budget = 0}), HasSubstr("choose one of"));
  // Budgets without recent frames: no frame, or the first frame, for every kind.
  for (const int64_t budget : {0, 1}) {
    const auto policy = make_history({.kind = "sparse", .budget = budget});
    EXPECT_TRUE(policy->bounded());
    for (int64_t frame = 0; frame < 12; ++frame) policy->commit({.index = frame});
    EXPECT_EQ(policy->select({}), std::vector<int64_t>(static_cast<size_t>(budget), 0));
    EXPECT_EQ(policy->clone()->retained().size(), static_cast<size_t>(budget));
    policy->restore(policy->save());
  }
  EXPECT_BAD_INPUT(make_history({.budget = 8, .recent = 8}), HasSubstr("at least 1"));
  EXPECT_BAD_INPUT(make_history({.archive = -1}), HasSubstr("archive of -1"));
}

TEST(HistoryRegistry, SetBudgetLimitsTheRecentFrames) {
  HistoryOptions options;
  for (const auto& [budget, recent] : {std::pair{0, 0}, {1, 0}, {2, 1}, {5, 4}, {9, 8}, {29, 8}}) {
    options.set_budget(budget);
    EXPECT_EQ(options.budget, budget);
    EXPECT_EQ(options.recent, recent) << budget;
    make_history(options);
  }
}

TEST(DenseHistory, RejectsMissingFrames) {
  const auto policy = make_dense_history();
  std::vector<RetainedFrame> gap(2);
  gap.back().frame = walk(5);
  EXPECT_BAD_INPUT(policy->restore(gap), HasSubstr("lacks frame 1"));
}

TEST(WindowHistory, KeepsFirstAndNewestFrames) {
  const auto policy = make_window_history({.sink_frames = 2, .recent_frames = 3});
  commit(*policy, 0, 50);
  EXPECT_THAT(policy->retained(), ElementsAre(0, 1, 47, 48, 49));
}

TEST(OverlapHistory, RetrievesFramesThatCoverTheUpcomingView) {
  const auto policy = make_overlap_history({.retrieved_frames = 4, .recent_frames = 4});
  commit(*policy, 0, 120);
  // After one round, the frames of the first metres have nearly the same cameras.
  std::vector<int64_t> seen = policy->select(std::vector<HistoryFrame>{walk(130)});
  seen.erase(seen.end() - 4, seen.end());
  seen.erase(seen.begin());
  ASSERT_EQ(seen.size(), 4u);
  for (const int64_t frame : seen) EXPECT_NEAR(static_cast<double>(frame), 10, 8);
  // A distant camera overlaps with nothing.
  HistoryFrame far = walk(130);
  far.camera.pose.position.x += 1000;
  EXPECT_THAT(policy->select(std::vector<HistoryFrame>{far}), ElementsAre(0, 116, 117, 118, 119));
}

// Three rounds of the circle, of which the first is recorded: recorded frames come first, and
// generated frames are retrieved only if there are no recorded ones.
TEST(OverlapHistory, PrefersRecordedFramesToGeneratedOnes) {
  RetrievalOptions options{.retrieved_frames = 3, .recent_frames = 2};
  const auto walk_around = [&] {
    auto policy = make_overlap_history(options);
    for (int64_t frame = 0; frame < 300; ++frame) {
      HistoryFrame view = walk(frame);
      if (frame < 120) view.origin = Origin::kRecorded;
      policy->commit(view);
    }
    return policy;
  };
  const auto retrieved = [](const HistoryPolicy& policy, int64_t upcoming) {
    std::vector<int64_t> seen = policy.select(std::vector<HistoryFrame>{walk(upcoming)});
    return std::vector<int64_t>(seen.begin() + 1, seen.end() - 2);
  };
  const auto policy = walk_around();
  EXPECT_THAT(retrieved(*policy, 300), Each(Lt(120)));
  // A full archive keeps recorded frames and drops generated frames of the same views.
  options.archive_frames = 130;
  const auto limited = walk_around();
  EXPECT_THAT(retrieved(*limited, 300), Each(Lt(120)));
  EXPECT_GE(std::ranges::count_if(limited->retained(), [](int64_t frame) { return frame < 120; }),
            115);
  // Restored policies retrieve the same frames.
  const auto restored = make_overlap_history(options);
  restored->restore(limited->save());
  EXPECT_EQ(retrieved(*restored, 300), retrieved(*limited, 300));
  const auto made = make_overlap_history({.retrieved_frames = 3, .recent_frames = 2});
  commit(*made, 0, 300);
  EXPECT_THAT(retrieved(*made, 300), Contains(Ge(120)));
}

// The plain form ranks by coverage alone: a distant frame that shows everything comes before a near
// one that shows less, and the origin does not count.
TEST(OverlapHistory, PlainFormHasNoWeights) {
  const auto frame = [](int64_t index, double yaw, double z, Origin origin) {
    HistoryFrame view{.index = index, .origin = origin};
    view.camera.pose = {camera::rotation_from_angles(yaw * M_PI / 180, 0), {0, 0, z}};
    return view;
  };
  const auto retrieved = [&](const std::string& kind) {
    const auto policy = make_history({.kind = kind, .budget = 3, .recent = 1});
    policy->commit(frame(0, 180, 0, Origin::kRecorded));
    policy->commit(frame(1, 0, -5, Origin::kGenerated));  // all, but from 5 m behind
    policy->commit(frame(2, 30, 0, Origin::kRecorded));   // less, from the same place
    policy->commit(frame(3, 180, 0, Origin::kRecorded));  // recent
    EXPECT_EQ(policy->name(), kind);
    return policy->select(std::vector<HistoryFrame>{frame(4, 0, 0, Origin::kGenerated)});
  };
  EXPECT_THAT(retrieved("plain_overlap"), ElementsAre(0, 1, 3));
  EXPECT_THAT(retrieved("overlap"), ElementsAre(0, 2, 3));
}

TEST(LandmarksHistory, KeepsSpacedFramesAndRetrievesTheNearest) {
  const RetrievalOptions options{
      .retrieved_frames = 2, .recent_frames = 4, .archive_frames = 30, .landmark_distance = 2};
  const auto policy = make_landmarks_history(options);
  commit(*policy, 0, 120);
  // 62.8 m per round and at least 2 m between landmarks: far fewer landmarks than frames.
  const std::vector<int64_t> kept = policy->retained();
  EXPECT_LE(kept.size(), 35u);
  EXPECT_GE(kept.size(), 20u);
  const std::vector<int64_t> seen = policy->select(std::vector<HistoryFrame>{walk(160)});
  EXPECT_NEAR(static_cast<double>(seen[1]), 40, 8);
  EXPECT_NEAR(static_cast<double>(seen[2]), 40, 8);
}

TEST(ContentHistory, RetrievesFramesWithSimilarContent) {
  const auto policy =
      make_content_history({.retrieved_frames = 3, .recent_frames = 2, .archive_frames = 1000});
  commit(*policy, 0, 150);
  // The newest frames, 148 and 149, have the content of frames 28 and 29, one round before.
  const std::vector<int64_t> seen = policy->select({});
  EXPECT_THAT(seen, Contains(28));
  EXPECT_THAT(seen, Contains(29));
  EXPECT_THAT(seen, Not(Contains(90)));
  HistoryFrame bare = walk(150);
  bare.key = at::Tensor();
  EXPECT_INTERNAL_ERROR(policy->commit(bare), HasSubstr("without its key and query"));
}

// A limited archive keeps frames from the whole circle, also after several rounds.
TEST(OverlapHistory, AFullArchiveDropsRedundantFrames) {
  const RetrievalOptions options{.retrieved_frames = 2, .recent_frames = 2, .archive_frames = 24};
  const auto policy = make_overlap_history(options);
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
  // A restored policy drops the same frames.
  const auto restored = make_overlap_history(options);
  restored->restore(policy->save());
  commit(*policy, 480, 520);
  commit(*restored, 480, 520);
  EXPECT_EQ(restored->retained(), policy->retained());
  // Without any overlap the oldest frames are dropped.
  const auto apart = make_overlap_history({.recent_frames = 1, .archive_frames = 3});
  for (int64_t frame = 0; frame < 8; ++frame) {
    HistoryFrame view = walk(frame);
    view.camera.pose.position.x += 100.0 * static_cast<double>(frame);
    apart->commit(view);
  }
  EXPECT_THAT(apart->retained(), ElementsAre(0, 4, 5, 6, 7));
}

TEST(ContentHistory, AFullArchiveDropsTheOldestFrame) {
  const auto policy =
      make_content_history({.retrieved_frames = 2, .recent_frames = 2, .archive_frames = 3});
  EXPECT_EQ(policy->stored_frames(), 6);
  commit(*policy, 0, 20);
  EXPECT_THAT(policy->retained(), ElementsAre(0, 15, 16, 17, 18, 19));
}

}  // namespace
}  // namespace loci::memory
