// SPDX-License-Identifier: Apache-2.0
#include "loci/base/jobs.h"

#include <atomic>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"

namespace loci {
namespace {

TEST(Jobs, EachJobRunsOnce) {
  for (const int workers : {1, 3, 50}) {
    std::vector<std::atomic<int>> done(20);
    std::atomic<int> opened = 0;
    run_jobs(done.size(), workers, [&] {
      ++opened;
      return [&, mine = 0](size_t job) mutable {
        ++mine;
        ++done[job];
      };
    });
    for (const auto& times : done) EXPECT_EQ(times, 1);
    EXPECT_LE(opened, std::min(workers, 20));
  }
  run_jobs(0, 2, []() -> std::function<void(size_t)> { fail("nothing to do"); });
}

TEST(Jobs, TheFirstErrorStopsTheJobs) {
  std::atomic<int> done = 0;
  const auto open = [&] {
    return [&](size_t job) {
      if (job == 3) fail("job {} is impossible", job);
      ++done;
    };
  };
  EXPECT_BAD_INPUT(run_jobs(1000000, 1, open), ::testing::HasSubstr("job 3"));
  EXPECT_EQ(done, 3);
}

}  // namespace
}  // namespace loci
