// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/history/history_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"

namespace loci::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<camera::Camera> cameras(int64_t first, int64_t count) {
  std::vector<camera::Camera> all;
  for (int64_t i = first; i < first + count; ++i) {
    const auto t = static_cast<double>(i);
    all.push_back({{camera::rotation_from_angles(0.4 + 0.1 * t, 0.2), {3, 1, 0.5 * t}}, {}});
  }
  return all;
}

PlannedChunk plan(HistoryPlanner& planner, int64_t count) {
  return planner.plan(cameras(planner.next_frame(), count));
}

// Plans and commits chunks of one, then five frames.
HistoryPlanner after(std::unique_ptr<HistoryPolicy> policy, int64_t chunks) {
  HistoryPlanner planner(std::move(policy));
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    planner.commit(plan(planner, chunk == 0 ? 1 : 5).frames);
  }
  return planner;
}

TEST(HistoryPlanner, UnboundedHistoryKeepsItsTimes) {
  HistoryPlanner planner = after(make_dense_history(), 2);
  const PlannedChunk chunk = plan(planner, 5);
  EXPECT_THAT(chunk.visible.frames, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(chunk.visible.key_times, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(chunk.visible.time_shifts(), ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(HistoryPlanner, BoundedHistoryGetsCompactTimes) {
  HistoryPlanner planner = after(make_window_history({.sink_frames = 2, .recent_frames = 3}), 4);
  EXPECT_EQ(planner.next_frame(), 16);
  const PlannedChunk chunk = plan(planner, 5);
  EXPECT_THAT(chunk.visible.frames, ElementsAre(0, 1, 13, 14, 15));
  EXPECT_THAT(chunk.visible.key_times, ElementsAre(11, 12, 13, 14, 15));
  EXPECT_THAT(chunk.visible.time_shifts(), ElementsAre(11, 11, 0, 0, 0));
}

TEST(HistoryPlanner, WindowTimesCountFromTheOldestVisibleFrame) {
  HistoryPlanner planner(make_window_history({.sink_frames = 0, .recent_frames = 6}),
                         KeyTimes::kWindow);
  for (int chunk = 0; chunk < 4; ++chunk) planner.commit(plan(planner, 3).frames);
  const PlannedChunk chunk = plan(planner, 3);
  EXPECT_THAT(chunk.visible.frames, ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_THAT(chunk.visible.key_times, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(chunk.visible.start_time, 6);
  // The cameras of the visible frames, relative to the first frame of the stream.
  const std::vector<camera::Camera> all = camera::relative_to_first(cameras(0, 12));
  ASSERT_EQ(chunk.visible.cameras.size(), 6u);
  EXPECT_NEAR(camera::norm(chunk.visible.cameras[0].pose.position - all[6].pose.position), 0, 1e-9);
  HistoryPlanner restored(make_window_history({.sink_frames = 0, .recent_frames = 6}),
                          KeyTimes::kWindow);
  restored.restore(planner.next_frame(), planner.world_to_first(), planner.policy().save());
  EXPECT_EQ(plan(restored, 3).visible.cameras, chunk.visible.cameras);
}

TEST(HistoryPlanner, OwnTimesStayUnderABoundedPolicy) {
  HistoryPlanner planner(make_window_history({.sink_frames = 0, .recent_frames = 4}),
                         KeyTimes::kOwn);
  for (int chunk = 0; chunk < 4; ++chunk) planner.commit(plan(planner, 3).frames);
  const PlannedChunk chunk = plan(planner, 3);
  EXPECT_THAT(chunk.visible.key_times, ElementsAre(8, 9, 10, 11));
  EXPECT_EQ(chunk.visible.start_time, 12);
  EXPECT_THAT(chunk.visible.time_shifts(), ElementsAre(0, 0, 0, 0));
}

TEST(HistoryPlanner, PosesAreRelativeToTheFirstFrame) {
  HistoryPlanner planner(make_dense_history());
  EXPECT_FALSE(planner.world_to_first().has_value());
  const PlannedChunk first = plan(planner, 1);
  EXPECT_THAT(first.visible.frames, IsEmpty());
  EXPECT_NEAR(camera::norm(first.frames[0].camera.pose.position), 0, 1e-12);
  planner.commit(first.frames);
  const PlannedChunk second = plan(planner, 5);
  const camera::Pose expected = cameras(0, 1).front().pose.inverse() * cameras(3, 1).front().pose;
  EXPECT_EQ(second.frames[2].index, 3);
  EXPECT_EQ(second.frames[2].camera.pose, expected);
}

TEST(HistoryPlanner, OnlyCommitAdvances) {
  HistoryPlanner planner = after(make_dense_history(), 2);
  const PlannedChunk once = plan(planner, 5), again = plan(planner, 5);
  EXPECT_EQ(once.visible.frames, again.visible.frames);
  EXPECT_EQ(planner.next_frame(), 6);
  HistoryPlanner copy(planner);
  copy.commit(once.frames);
  EXPECT_EQ(copy.next_frame(), 11);
  EXPECT_EQ(planner.next_frame(), 6);
  EXPECT_EQ(planner.policy().retained().size(), 6u);
  EXPECT_INTERNAL_ERROR(copy.commit(once.frames), HasSubstr("frame 6 is committed where frame 11"));
}

TEST(HistoryPlanner, RestoredPlannersContinueAlike) {
  const auto make = [] { return make_sparse_history({.bank_frames = 3, .recent_frames = 2}); };
  HistoryPlanner planner = after(make(), 6);
  HistoryPlanner restored(make());
  restored.restore(planner.next_frame(), planner.world_to_first(), planner.policy().save());
  for (int i = 0; i < 3; ++i) {
    const PlannedChunk a = plan(planner, 5), b = plan(restored, 5);
    EXPECT_EQ(a.visible.frames, b.visible.frames);
    EXPECT_EQ(a.frames.back().camera.pose, b.frames.back().camera.pose);
    planner.commit(a.frames);
    restored.commit(b.frames);
  }
  EXPECT_BAD_INPUT(
      HistoryPlanner(make()).restore(3, planner.world_to_first(), planner.policy().save()),
      HasSubstr("the stream has only 3 frames"));
}

// Selects frames that do not exist.
class Careless : public HistoryPolicy {
 public:
  explicit Careless(std::vector<int64_t> frames) : frames_(std::move(frames)) {}
  std::string_view name() const override { return "careless"; }
  int64_t frame_budget() const override { return 2; }
  void commit(const HistoryFrame&) override {}
  std::vector<int64_t> select(std::span<const HistoryFrame>) const override { return frames_; }
  std::vector<int64_t> retained() const override { return frames_; }
  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<Careless>(*this);
  }
  std::vector<RetainedFrame> save() const override { return {}; }
  void restore(std::vector<RetainedFrame>) override {}

 private:
  std::vector<int64_t> frames_;
};

TEST(HistoryPlanner, ReportsFaultyPolicies) {
  HistoryPlanner future(std::make_unique<Careless>(std::vector<int64_t>{0}));
  EXPECT_INTERNAL_ERROR(plan(future, 1), HasSubstr("policy 'careless' selects frame 0"));
  for (const auto& [frames, message] : {std::pair(std::vector<int64_t>{}, ""),
                                        {{1, 0}, "frame 0 after frame 1"},
                                        {{0, 1, 2}, "3 frames; its budget is 2"}}) {
    HistoryPlanner planner(std::make_unique<Careless>(frames));
    planner.restore(6, camera::Pose(), {});
    if (frames.empty()) {
      EXPECT_THAT(plan(planner, 5).visible.frames, IsEmpty());
    } else {
      EXPECT_INTERNAL_ERROR(plan(planner, 5), HasSubstr(message));
    }
  }
}

}  // namespace
}  // namespace loci::memory
