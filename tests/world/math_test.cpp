// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/math.h"

#include <gtest/gtest.h>

namespace loci::world {
namespace {

TEST(SceneMath, AgreesWithTheStandardLibrary) {
  for (double x = -400; x < 400; x += 0.377) {
    EXPECT_NEAR(exact_sin(x), std::sin(x), 1e-12) << x;
    EXPECT_NEAR(exact_cos(x), std::cos(x), 1e-12) << x;
  }
  for (int i = 0; i < 720; ++i) {
    const double angle = (i - 359.5) * kPi / 360, radius = 0.01 + i;
    EXPECT_NEAR(exact_atan2(radius * std::sin(angle), radius * std::cos(angle)), angle, 1e-11) << i;
  }
  EXPECT_EQ(exact_atan2(0, 0), 0);
  EXPECT_NEAR(exact_atan2(0, -1), kPi, 1e-12);
}

TEST(SceneMath, NoiseIsSmoothAndInRange) {
  float low = 1, high = 0;
  for (int i = 0; i < 4000; ++i) {
    const float x = static_cast<float>(i) * 0.03f - 60, y = static_cast<float>(i) * 0.017f - 31;
    const float here = fractal_noise(x, y, 4, 9), near = fractal_noise(x + 1e-3f, y, 4, 9);
    low = std::min(low, here);
    high = std::max(high, here);
    EXPECT_NEAR(here, near, 0.02f);
  }
  EXPECT_GE(low, 0);
  EXPECT_LE(high, 1);
  EXPECT_GT(high - low, 0.4f);
  EXPECT_NE(noise(0.5f, 0.5f, 1), noise(0.5f, 0.5f, 2));
}

}  // namespace
}  // namespace loci::world
