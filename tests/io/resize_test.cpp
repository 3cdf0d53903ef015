// SPDX-License-Identifier: Apache-2.0
#include "loci/io/media/resize.h"

#include "loci/io/media/image.h"

#include "media_test.h"

namespace loci::io {
namespace {

TEST(Resize, MatchesPil) {
  const at::Tensor source = read_image(media("resize.png"));
  for (const auto& [name, filter] : {std::pair{"lanczos", ResizeFilter::kLanczos},
                                     {"bicubic", ResizeFilter::kBicubic},
                                     {"bilinear", ResizeFilter::kBilinear}}) {
    for (const auto& [width, height] : {std::pair{33, 21}, {96, 64}, {70, 20}, {5, 90}}) {
      const std::string expected = fmt::format("expected_{}_{}x{}.png", name, width, height);
      EXPECT_EQ(largest_difference(resize_image(source, width, height, filter),
                                   read_image(media(expected))),
                0)
          << expected;
    }
  }
}

TEST(Resize, KeepsConstantsAndSizes) {
  const at::Tensor grey = at::full({9, 7, 3}, 77, at::kByte);
  for (const auto& [width, height] : {std::pair{1, 1}, {7, 9}, {50, 3}, {2, 100}}) {
    const at::Tensor result = resize_image(grey, width, height);
    EXPECT_TRUE(at::equal(result, at::full({height, width, 3}, 77, at::kByte)));
  }
  EXPECT_TRUE(at::equal(resize_image(pattern(9, 7), 7, 9), pattern(9, 7)));
  expect_bad_input([&] { resize_image(grey, 0, 10); }, "0 x 10");
  expect_bad_input([&] { resize_image(grey, 100'000, 100'000); }, "100000 x 100000");
}

TEST(Resize, CropsTheCentreAndReportsIt) {
  const at::Tensor source = read_image(media("resize.png"));  // 70 x 50
  // 96 / 70 > 64 / 50: the width determines the scale, and 5 of 69 rows are cropped.
  const FittedImage wide = resize_and_crop(source, 96, 64);
  EXPECT_TRUE(at::equal(wide.image, resize_image(source, 96, 69).slice(0, 2, 66)));
  EXPECT_EQ(wide.note, "resized from 70 x 50 to 96 x 69, cut 2 pixels above and 3 below");
  const FittedImage tall = resize_and_crop(source, 20, 50);
  EXPECT_TRUE(at::equal(tall.image, source.slice(1, 25, 45)));
  EXPECT_EQ(tall.note, "cut 25 pixels left and 25 right");
  EXPECT_TRUE(tall.image.is_contiguous());
  const FittedImage same = resize_and_crop(source, 70, 50);
  EXPECT_TRUE(at::equal(same.image, source));
  EXPECT_EQ(same.note, "");
  // A narrow strip would become too large.
  expect_bad_input(
      [] {
        resize_and_crop(at::zeros({100'000, 1, 3}, at::kByte), 1280, 704);
      },
      "128000000");
}

}  // namespace
}  // namespace loci::io
