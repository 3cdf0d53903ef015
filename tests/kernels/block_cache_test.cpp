// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/machine/block_cache.h"

#include <cstring>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace loci::kernels {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

TEST(BlockCache, ReusesTheMemoryOfAFreedTensor) {
  BlockCache cache;
  void* first = nullptr;
  {
    const c10::DataPtr block = cache.allocate(10 * kMegabyte);
    first = block.get();
    std::memset(first, 1, 10 * kMegabyte);
    EXPECT_EQ(cache.used(), 10 * kMegabyte);
    EXPECT_EQ(cache.kept(), 0u);
  }
  EXPECT_EQ(cache.used(), 0u);
  EXPECT_EQ(cache.kept(), 10 * kMegabyte);
  const c10::DataPtr similar = cache.allocate(9 * kMegabyte);
  EXPECT_EQ(similar.get(), first);
  const c10::DataPtr other = cache.allocate(9 * kMegabyte);
  EXPECT_NE(other.get(), first);
}

TEST(BlockCache, DoesNotUseALargeBlockForASmallTensor) {
  BlockCache cache;
  void* const large = cache.allocate(64 * kMegabyte).get();
  const c10::DataPtr small = cache.allocate(4 * kMegabyte);
  EXPECT_NE(small.get(), large);
}

TEST(BlockCache, BoundsTheMemoryThatItKeeps) {
  BlockCache cache;
  size_t most = 0;
  for (size_t size = 2; size <= 40; size += 2) {  // no block fits the next tensors
    const c10::DataPtr block = cache.allocate(size * kMegabyte);
    most = std::max(most, cache.used());
    EXPECT_LE(static_cast<double>(cache.used() + cache.kept()),
              BlockCache::kSlack * static_cast<double>(most))
        << size << " MB";
  }
}

TEST(BlockCache, LeavesSmallTensorsToLibtorch) {
  BlockCache cache;
  const c10::DataPtr small = cache.allocate(BlockCache::kLarge - 1);
  ASSERT_NE(small.get(), nullptr);
  EXPECT_EQ(cache.used(), 0u);
}

TEST(BlockCache, FreesRawAllocationsOfEverySize) {
  BlockCache cache;
  for (const size_t bytes : {size_t{100}, 6 * kMegabyte}) {
    void* const data = cache.raw_allocate(bytes);
    ASSERT_NE(data, nullptr);
    std::memset(data, 1, bytes);
    cache.raw_deallocate(data);
  }
  EXPECT_EQ(cache.used(), 0u);
  EXPECT_EQ(cache.kept(), 6 * kMegabyte);
}

TEST(BlockCache, ReportsTensorsThatDoNotFitIntoMemory) {
  BlockCache cache;
  { const c10::DataPtr kept = cache.allocate(8 * kMegabyte); }
  EXPECT_THROW(cache.allocate(size_t{1} << 60), c10::Error);
  EXPECT_EQ(cache.kept(), 0u) << "kept blocks are given up before memory is reported as exhausted";
}

TEST(BlockCache, ServesSeveralThreads) {
  BlockCache cache;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&cache, thread] {
      for (int i = 0; i < 50; ++i) {
        const c10::DataPtr block = cache.allocate((2 + (i + thread) % 5) * kMegabyte);
        auto* bytes = static_cast<unsigned char*>(block.get());
        bytes[0] = bytes[2 * kMegabyte - 1] = static_cast<unsigned char>(thread);
        std::this_thread::yield();
        EXPECT_EQ(bytes[0], thread);
        EXPECT_EQ(bytes[2 * kMegabyte - 1], thread);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cache.used(), 0u);
}

}  // namespace
}  // namespace loci::kernels
