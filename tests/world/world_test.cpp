// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/world.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/world/render/bvh.h"

#include "tests/base/expect_error.h"

namespace loci::world {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(World, IsTheSameForTheSameSeed) {
  const World a = make_world(5), b = make_world(5), c = make_world(6);
  EXPECT_EQ(a.captions, b.captions);
  EXPECT_EQ(a.scene.light, b.scene.light);
  EXPECT_EQ(a.scene.ground.texels, b.scene.ground.texels);
  EXPECT_EQ(a.scene.sky.texels, b.scene.sky.texels);
  EXPECT_NE(a.scene.sky.texels, c.scene.sky.texels);
}

TEST(World, EveryStyleTimeAndWeatherWorks) {
  const Style styles[] = {Style::kTown,     Style::kCourtyard, Style::kForest, Style::kDesert,
                          Style::kInterior, Style::kRuins,     Style::kGarden};
  int mood = 0;
  std::set<std::string> captions;
  for (const Style style : styles) {
    // Two moods per style cover all nine in turn.
    for (int i = 0; i < 2; ++i, ++mood) {
      const auto time = static_cast<Time>(mood % 3);
      const auto weather = static_cast<Weather>(mood / 3 % 3);
      const World world = make_world(70 + static_cast<uint64_t>(mood), {style, time, weather});
      EXPECT_EQ(world.style, style);
      EXPECT_EQ(world.mood.time, time);
      EXPECT_EQ(world.mood.weather, weather);
      EXPECT_GT(world.scene.solids.size(), 50u) << name_of(style);
      EXPECT_LT(world.scene.solids.size(), 900u) << name_of(style);
      EXPECT_GE(world.viewpoints.size(), 6u) << name_of(style);
      EXPECT_GE(world.features.size(), 3u) << name_of(style);
      for (const std::string& caption : world.captions) {
        EXPECT_THAT(caption, Not(HasSubstr(" a a"))) << caption;
        EXPECT_THAT(caption, Not(HasSubstr(" a o"))) << caption;
        EXPECT_THAT(caption, Not(HasSubstr("  "))) << caption;
      }
      EXPECT_THAT(world.captions.front(), StartsWith("a "));
      EXPECT_EQ(world.captions.front().starts_with("a snowy "), weather == Weather::kSnow);
      EXPECT_EQ(world.captions.front().find(" at dusk ") != std::string::npos, time == Time::kDusk);
      captions.insert(world.captions.begin(), world.captions.end());
    }
  }
  EXPECT_GT(captions.size(), 50u);
}

TEST(World, HeldOutStylesComeOnlyWhenAskedFor) {
  std::set<Style> seen;
  for (uint64_t seed = 0; seed < 12; ++seed) seen.insert(make_world(seed).style);
  EXPECT_GE(seen.size(), 4u);
  for (const Style style : kHeldOutStyles) EXPECT_FALSE(seen.contains(style));
}

TEST(World, NamesAreParsedBack) {
  EXPECT_EQ(parse_style("desert"), Style::kDesert);
  EXPECT_EQ(parse_time("dusk"), Time::kDusk);
  EXPECT_EQ(parse_weather("snow"), Weather::kSnow);
  EXPECT_BAD_INPUT(parse_style("moon"),
                   HasSubstr("town, courtyard, forest, desert, interior, ruins, garden"));
  EXPECT_BAD_INPUT(parse_time("noon"), HasSubstr("day, dusk, night"));
  EXPECT_BAD_INPUT(parse_weather("rain"), HasSubstr("clear, fog, snow"));
}

// Every solid lies in the leaf that holds it and in all nodes above.
TEST(World, HierarchyHoldsEverySolid) {
  const World world = make_world(9, {.style = Style::kForest});
  const Scene& scene = world.scene;
  std::vector<int> held(scene.solids.size());
  std::function<Bounds(size_t)> check = [&](size_t index) {
    const BvhNode& node = scene.nodes[index];
    Bounds bounds;
    if (node.count > 0) {
      for (int i = node.right; i < node.right + node.count; ++i) {
        ++held[static_cast<size_t>(i)];
        bounds.add(bounds_of(scene, scene.solids[static_cast<size_t>(i)]));
      }
    } else {
      bounds = check(index + 1);
      bounds.add(check(static_cast<size_t>(node.right)));
    }
    EXPECT_LE(node.low.x, bounds.low.x);
    EXPECT_LE(node.low.y, bounds.low.y);
    EXPECT_LE(node.low.z, bounds.low.z);
    EXPECT_GE(node.high.x, bounds.high.x);
    EXPECT_GE(node.high.y, bounds.high.y);
    EXPECT_GE(node.high.z, bounds.high.z);
    return bounds;
  };
  check(0);
  EXPECT_THAT(held, ::testing::Each(1));
}

}  // namespace
}  // namespace loci::world
