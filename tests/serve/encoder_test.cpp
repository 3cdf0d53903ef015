// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/engine/encoder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loci::serve {
namespace {

using ::testing::ElementsAre;

TEST(Encoder, RunsJobsInOrderOfSubmission) {
  Encoder encoder(1 << 20);
  std::vector<int> order;  // jobs run in one thread; drain() orders it before the reads below
  for (int i = 0; i < 1000; ++i) encoder.submit(0, [&order, i] { order.push_back(i); });
  encoder.drain();
  ASSERT_EQ(order.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Encoder, BlocksSubmitWhileTheQueueIsFull) {
  Encoder encoder(100'000);
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::atomic<int> submitted = 0;
  // A job larger than the limit is accepted by an empty queue.
  encoder.submit(500'000, [released] { released.wait(); });
  std::thread producer([&] {
    for (int i = 0; i < 3; ++i) {
      encoder.submit(60'000, [] {});
      ++submitted;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(submitted, 0);
  release.set_value();
  producer.join();
  encoder.drain();
  EXPECT_EQ(submitted, 3);
}

TEST(Encoder, RunsWaitingJobsWhenItStops) {
  std::vector<int> ran;
  {
    Encoder encoder(1 << 20);
    std::promise<void> release;
    std::shared_future<void> released = release.get_future().share();
    encoder.submit(0, [released] { released.wait(); });
    for (int i = 0; i < 3; ++i) encoder.submit(1000, [&ran, i] { ran.push_back(i); });
    release.set_value();
  }
  EXPECT_THAT(ran, ElementsAre(0, 1, 2));
}

TEST(Encoder, GoesOnAfterAJobThatThrows) {
  Encoder encoder(1 << 20);
  bool ran = false;
  encoder.submit(0, [] { throw std::runtime_error("broken"); });
  encoder.submit(0, [&ran] { ran = true; });
  encoder.drain();
  EXPECT_TRUE(ran);
}

TEST(Encoder, FreesTheFramesOfAJobThatHasRun) {
  Encoder encoder(1 << 20);
  auto frames = std::make_shared<int>(1);
  const std::weak_ptr<int> weak = frames;
  encoder.submit(0, [held = std::move(frames)] {});
  encoder.drain();
  EXPECT_TRUE(weak.expired());
}

}  // namespace
}  // namespace loci::serve
