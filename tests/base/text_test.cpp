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
  EXPECT_FALSE(parse_int("+-7"));
  EXPECT_FALSE(parse_int("+"));
  EXPECT_FALSE(parse_int("99999999999999999999"));
}

TEST(Text, FormatsQuantities) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(uint64_t{3} << 29), "1.50 GiB");
  EXPECT_EQ(format_count(4999787712), "4,999,787,712");
  EXPECT_EQ(format_count(12), "12");
  EXPECT_EQ(format_duration(0.5), "0.50 s");
  EXPECT_EQ(format_duration(200), "3 min 20 s");
  EXPECT_EQ(format_duration(7500), "2 h 05 min");
  EXPECT_EQ(format_duration(59.7), "1 min 00 s");
  EXPECT_EQ(format_duration(1.0 / 0.0), "?");
}

TEST(Text, TruncatesTextToALine) {
  EXPECT_EQ(shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(shorten("abcdef", 5), "abcd…");
  EXPECT_EQ(shorten("äöüß", 4), "äöüß");
  EXPECT_EQ(shorten("äöüß", 3), "äö…");
  EXPECT_EQ(shorten("abc", 0), "");
  EXPECT_EQ(one_line("a\nb\033[31m\177c"), "a b [31m c");
}

TEST(Text, SuggestsTheNearestWord) {
  const std::vector<std::string> known = {"chunk_size", "hybrid_layers", "ffn_dim"};
  EXPECT_EQ(nearest("hybrid_layer", known), "hybrid_layers");
  EXPECT_EQ(nearest("chunksize", known), "chunk_size");
  EXPECT_EQ(nearest("zebra", known), "");
  EXPECT_EQ(nearest("ab", std::vector<std::string>{"cd"}), "");
  EXPECT_EQ(nearest("raet", std::vector<std::string>{"steps", "rate"}), "rate");
  EXPECT_EQ(nearest("", known), "");
}

}  // namespace
}  // namespace loci
