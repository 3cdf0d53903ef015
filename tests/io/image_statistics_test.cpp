// SPDX-License-Identifier: Apache-2.0
#include "loci/io/media/image_statistics.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "../base/expect_error.h"

namespace loci::io {
namespace {

using ::testing::HasSubstr;

// One white pixel in the middle of a black 5x5 picture. The Laplacian of the inner 3x3 pixels is
// -4 * 255 at the pixel, 255 at its four neighbours and 0 at the corners: its mean is 0.
TEST(ImageStatistics, OfASinglePixel) {
  at::Tensor frames = at::zeros({2, 5, 5, 3}, at::kByte);
  frames[1][2][2].fill_(255);
  const std::vector<double> sharp = sharpness(frames), deviation = contrast(frames);
  ASSERT_EQ(sharp.size(), 2u);
  EXPECT_EQ(sharp[0], 0);
  EXPECT_EQ(deviation[0], 0);
  EXPECT_NEAR(sharp[1], 255. * 255 * (16 + 4) / 9, 1e-6);
  EXPECT_NEAR(deviation[1], 255 * std::sqrt(1. / 25 - 1. / 625), 1e-9);
}

TEST(ImageStatistics, UseTheLumaOfBytesAndFractions) {
  at::Tensor frames = at::zeros({1, 4, 4, 3});
  frames.select(3, 1).narrow(1, 0, 2).fill_(1);  // half of the picture is green
  EXPECT_NEAR(contrast(frames)[0], 0.587 * 255 / 2, 1e-9);
  EXPECT_NEAR(contrast((frames * 255).to(at::kByte))[0], 0.587 * 255 / 2, 1e-9);
  EXPECT_NEAR(sharpness(frames)[0], std::pow(0.587 * 255, 2), 1e-6);
}

TEST(ImageStatistics, RejectWrongShapes) {
  EXPECT_BAD_INPUT(sharpness(at::zeros({1, 2, 8, 3})), HasSubstr("at least 3x3"));
  EXPECT_BAD_INPUT(contrast(at::zeros({4, 4, 3})), HasSubstr("[frames, height, width, 3]"));
}

}  // namespace
}  // namespace loci::io
