// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/walk_state.h"

#include <gtest/gtest.h>

namespace loci::serve {
namespace {

using Phase = WalkState::Phase;

const Clock::time_point kNow = Clock::time_point(std::chrono::hours(1));
const Clock::time_point kAtOnce = Clock::time_point();

WalkState ready() {
  WalkState state;
  state.set_phase(Phase::kReady);
  state.restart(16);
  return state;
}

TEST(WalkState, WantsNoChunkUnlessReady) {
  WalkState state;
  for (const Phase phase : {Phase::kNew, Phase::kReading, Phase::kEnded}) {
    state.set_phase(phase);
    EXPECT_FALSE(state.next_chunk(false));
  }
  state.set_phase(Phase::kReady);
  EXPECT_EQ(state.next_chunk(false), kAtOnce);
}

TEST(WalkState, MakesExactlyTheStepsAskedForWhilePaused) {
  WalkState state = ready();
  state.pause("client");
  EXPECT_FALSE(state.next_chunk(false));
  state.step(2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(state.next_chunk(false), kAtOnce);
    EXPECT_FALSE(state.end_chunk(1));  // max_chunks does not count steps
  }
  EXPECT_FALSE(state.next_chunk(false));
  state.step(5);
  state.pause("error");
  EXPECT_FALSE(state.next_chunk(false));
  EXPECT_EQ(state.pause_reason(), "error");
}

TEST(WalkState, StopsAtMaxChunksUntilItIsResumed) {
  WalkState state = ready();
  EXPECT_FALSE(state.end_chunk(2));
  EXPECT_TRUE(state.end_chunk(2));
  state.pause("max_chunks");
  EXPECT_TRUE(state.resume());
  EXPECT_FALSE(state.resume());
  EXPECT_FALSE(state.end_chunk(2));
  EXPECT_TRUE(state.end_chunk(2));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(state.end_chunk(0));
}

TEST(WalkState, TakesTheChoiceOfANewClient) {
  WalkState state = ready();
  state.pause("idle");
  state.step(3);
  state.greet(false);
  EXPECT_FALSE(state.paused());
  state.greet(true);
  EXPECT_TRUE(state.paused());
  EXPECT_EQ(state.pause_reason(), "client");
  EXPECT_FALSE(state.next_chunk(false));
}

TEST(WalkState, MeasuresIntervalsOnlyWithinAnUninterruptedRun) {
  WalkState state = ready();
  EXPECT_EQ(state.begin_chunk(kNow), 0);
  EXPECT_NEAR(state.begin_chunk(kNow + std::chrono::milliseconds(250)), 250, 1e-6);
  state.pause("client");
  state.resume();
  EXPECT_EQ(state.begin_chunk(kNow + std::chrono::seconds(60)), 0);
  state.restart(16);
  EXPECT_EQ(state.begin_chunk(kNow + std::chrono::seconds(90)), 0);
}

TEST(WalkState, LetsPacedChunksWaitForTheFramesBefore) {
  WalkState state = ready();
  EXPECT_EQ(state.schedule(kNow, 16, 0.2), kNow);
  ASSERT_TRUE(state.next_chunk(true));
  EXPECT_GT(*state.next_chunk(true), kNow + std::chrono::milliseconds(700));
  EXPECT_LT(*state.next_chunk(true), kNow + std::chrono::seconds(1));
  EXPECT_EQ(state.next_chunk(false), kAtOnce);
}

}  // namespace
}  // namespace loci::serve
