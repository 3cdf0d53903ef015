// SPDX-License-Identifier: Apache-2.0
#include "loci/base/random.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include "tests/base/expect_error.h"

namespace loci {
namespace {

using ::testing::HasSubstr;

uint64_t next_of_splitmix64(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

TEST(Random, FollowsSplitMix64) {
  // The numbers that were published with the algorithm, from state 1234567.
  uint64_t state = 1234567;
  for (const uint64_t expected : {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                  4593380528125082431U, 16408922859458223821U}) {
    EXPECT_EQ(next_of_splitmix64(state), expected);
  }
  state = hash_keys({3, 4});
  Random random({3, 4});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(random.next(), next_of_splitmix64(state));
}

// Generated scenes depend on these numbers, so they must never change.
TEST(Random, NeverChanges) {
  EXPECT_EQ(hash_keys({}), 0x9e3779b97f4a7c15U);
  EXPECT_EQ(hash_keys({1, 2, 3}), 15205877802699428709U);
  Random random({42, 7});
  EXPECT_EQ(random.next(), 14858038336505700222U);
  EXPECT_DOUBLE_EQ(random.uniform(), 0.8370735439971779);
  EXPECT_DOUBLE_EQ(random.normal(), -0.6075820902140044);
  EXPECT_EQ(random.below(1000), 569U);
}

TEST(Random, DependsOnItsKeys) {
  EXPECT_EQ(Random(5).next(), Random{5}.next());
  std::set<uint64_t> starts;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (uint64_t clip = 0; clip < 100; ++clip) starts.insert(Random({seed, clip}).next());
  }
  EXPECT_EQ(starts.size(), 10'000U);
  EXPECT_NE(hash_keys({1, 2}), hash_keys({2, 1}));
  EXPECT_NE(hash_keys({0}), hash_keys({0, 0}));
}

TEST(Random, IsUniform) {
  Random random(1);
  std::array<int, 10> counts{};
  double sum = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double number = random.uniform();
    ASSERT_GE(number, 0);
    ASSERT_LT(number, 1);
    sum += number;
    ++counts[static_cast<size_t>(number * 10)];
  }
  // Five standard deviations.
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
  for (const int count : counts) EXPECT_NEAR(count, 0.1 * kDraws, 5 * std::sqrt(kDraws * 0.09));
  const double scaled = random.uniform(-3, -2);
  EXPECT_GE(scaled, -3);
  EXPECT_LT(scaled, -2);
}

TEST(Random, IsNormal) {
  Random random(2);
  constexpr int kDraws = 100'000;
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double number = random.normal();
    ASSERT_TRUE(std::isfinite(number));
    sum += number;
    squares += number * number;
    beyond_two += std::abs(number) > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(beyond_two, 0.0455 * kDraws, 5 * std::sqrt(0.0455 * kDraws));
}

TEST(Random, IntegersAreUnbiased) {
  Random random(3);
  std::array<int, 7> counts{};
  constexpr int kDraws = 70'000;
  for (int i = 0; i < kDraws; ++i) ++counts[random.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(random.below(1), 0U);

  bool low = false;
  bool high = false;
  for (int i = 0; i < 1000; ++i) {
    const int64_t number = random.between(-2, 2);
    ASSERT_GE(number, -2);
    ASSERT_LE(number, 2);
    low |= number == -2;
    high |= number == 2;
  }
  EXPECT_TRUE(low && high);
  EXPECT_EQ(random.between(5, 5), 5);
  // All 2^64 numbers: the count does not fit into 64 bits.
  EXPECT_NE(random.between(INT64_MIN, INT64_MAX), random.between(INT64_MIN, INT64_MAX));
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) hits += random.chance(0.25) ? 1 : 0;
  EXPECT_NEAR(hits, 2500, 5 * std::sqrt(10'000 * 0.25 * 0.75));
  EXPECT_INTERNAL_ERROR(random.below(0), HasSubstr("a positive count"));
  EXPECT_INTERNAL_ERROR(random.between(2, 1), HasSubstr("got 2 and 1"));
}

}  // namespace
}  // namespace loci
