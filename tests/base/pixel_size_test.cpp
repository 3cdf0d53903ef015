// SPDX-License-Identifier: Apache-2.0
#include "loci/base/pixel_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"

namespace loci {
namespace {

using ::testing::HasSubstr;
using ::testing::StrEq;

TEST(PixelSize, ParsesWidthAndHeight) {
  EXPECT_EQ(parse_pixel_size("768x512", "--size"), (PixelSize{768, 512}));
  EXPECT_EQ(parse_pixel_size("1x16384", "--size"), (PixelSize{1, 16384}));
}

TEST(PixelSize, RejectsAMalformedValue) {
  for (const char* text : {"", "x", "768", "768x", "x512", "768x512x3", "768X512", "768 x 512",
                           "-8x8", "+8x8", "8.5x8", "768x512px", "axb"}) {
    SCOPED_TRACE(text);
    EXPECT_BAD_INPUT(parse_pixel_size(text, "--size"),
                     HasSubstr("is not a size; expected WIDTHxHEIGHT"));
  }
  EXPECT_BAD_INPUT(
      parse_pixel_size("768", "size"),
      StrEq("size: '768' is not a size; expected WIDTHxHEIGHT in pixels, such as 768x512"));
}

TEST(PixelSize, RejectsAValueOutOfRange) {
  const PixelSizeLimits limits{.least = 8, .most = 8192};
  EXPECT_EQ(parse_pixel_size("8x8192", "--size", limits), (PixelSize{8, 8192}));
  for (const char* text : {"7x8", "8x7", "8193x8", "8x8193", "0x0", "99999999999999999999x8"}) {
    SCOPED_TRACE(text);
    EXPECT_BAD_INPUT(parse_pixel_size(text, "--size", limits),
                     HasSubstr("is out of range; each side must be 8 to 8192 pixels"));
  }
}

TEST(PixelSize, RejectsSidesThatAreNotMultiples) {
  const PixelSizeLimits limits{.multiple = 32};
  EXPECT_EQ(parse_pixel_size("64x32", "--size", limits), (PixelSize{64, 32}));
  EXPECT_BAD_INPUT(parse_pixel_size("100x64", "--size", limits), HasSubstr("multiples of 32"));
  EXPECT_BAD_INPUT(parse_pixel_size("64x100", "--size", limits), HasSubstr("multiples of 32"));
}

}  // namespace
}  // namespace loci
