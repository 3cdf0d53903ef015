// SPDX-License-Identifier: Apache-2.0
#include "loci/app/bench/measure_render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/run_command.h"

namespace loci::app {
namespace {

using ::testing::HasSubstr;

TEST(BenchRender, MeasuresEveryStyle) {
  world::ClipOptions options;
  options.width = 32;
  options.height = 24;
  const std::vector<RenderSpeed> speeds = measure_rendering(options, {1, 2}, 0.001);
  ASSERT_EQ(speeds.size(), world::kTrainingStyles.size());
  for (const RenderSpeed& speed : speeds) {
    ASSERT_EQ(speed.rates.size(), 2u);
    for (const RenderSpeed::Rate& rate : speed.rates) {
      EXPECT_GT(rate.frames_a_second, 0) << speed.style;
      EXPECT_GT(rate.frames_a_cpu_second, 0) << speed.style;
    }
    EXPECT_GT(speed.scene_ms, 0) << speed.style;
  }
}

TEST(BenchRender, ReportsABuildWithoutEmbree) {
  const Outcome outcome = run_command({"bench", "render", "--seconds", "0.01", "--embree"});
  EXPECT_THAT(outcome.out, HasSubstr("1 thread"));
  EXPECT_THAT(outcome.out, HasSubstr("2 threads"));
  if (outcome.code == 0) {
    EXPECT_THAT(outcome.out, HasSubstr("Embree"));
  } else {
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("libembree-dev"));
  }
}

}  // namespace
}  // namespace loci::app
