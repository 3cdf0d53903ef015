// SPDX-License-Identifier: Apache-2.0
#include "loci/base/text.h"

#include <gtest/gtest.h>

namespace loci {
namespace {

TEST(Text, SplitsAndTrims) {
  EXPECT_EQ(trim("  a b\t\n"), "a b");
  EXPECT_EQ(trim(" \t"), "");
  EXPECT_EQ(split("a,,b", ',').size(), 3u);
  EXPECT_EQ(split("", ',').size(), 1u);
  EXPECT_EQ(split_whitespace("  1  2\t3 ").size(), 3u);
  EXPECT_TRUE(split_whitespace("   ").empty());
}

TEST(Text, ParsesWholeNumbersOnly) {
  EXPECT_EQ(parse_double("1.5e2"), 150.0);
  EXPECT_EQ(parse_double("+2"), 2.0);
  EXPECT_FALSE(parse_double("1.5x"));
  EXPECT_FALSE(parse_double(""));
  EXPECT_EQ(parse_int("-7"), -7);
  EXPECT_FALSE(parse_int("7.0"));
}

TEST(Text, FormatsQuantities) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(uint64_t{3} << 29), "1.50 GiB");
  EXPECT_EQ(format_count(4999787712), "4,999,787,712");
  EXPECT_EQ(format_count(12), "12");
  EXPECT_EQ(format_duration(0.5), "0.50 s");
  EXPECT_EQ(format_duration(200), "3 min 20 s");
  EXPECT_EQ(format_duration(7500), "2 h 05 min");
}

TEST(Text, SuggestsTheNearestWord) {
  const std::vector<std::string> known = {"chunk_size", "hybrid_layers", "ffn_dim"};
  EXPECT_EQ(nearest("hybrid_layer", known), "hybrid_layers");
  EXPECT_EQ(nearest("chunksize", known), "chunk_size");
  EXPECT_EQ(nearest("zebra", known), "");
}

}  // namespace
}  // namespace loci
