// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/scene.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/world/render/bvh.h"

#include "tests/base/expect_error.h"

namespace loci::world {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Scene, IsDeterminedByItsSeed) {
  const Scene a = make_scene(5), b = make_scene(5), c = make_scene(6);
  EXPECT_EQ(a.captions, b.captions);
  EXPECT_EQ(a.geometry.light, b.geometry.light);
  EXPECT_EQ(a.geometry.ground.texels, b.geometry.ground.texels);
  EXPECT_EQ(a.geometry.sky.texels, b.geometry.sky.texels);
  EXPECT_NE(a.geometry.sky.texels, c.geometry.sky.texels);
}

TEST(Scene, SupportsEveryStyleTimeAndWeather) {
  const Style styles[] = {Style::kTown,     Style::kCourtyard, Style::kForest, Style::kDesert,
                          Style::kInterior, Style::kRuins,     Style::kGarden};
  int mood = 0;
  std::set<std::string> captions;
  for (const Style style : styles) {
    // Two moods per style cover all nine moods.
    for (int i = 0; i < 2; ++i, ++mood) {
      const auto time = static_cast<Time>(mood % 3);
      const auto weather = static_cast<Weather>(mood / 3 % 3);
      const Scene scene = make_scene(70 + static_cast<uint64_t>(mood), {style, time, weather});
      EXPECT_EQ(scene.style, style);
      EXPECT_EQ(scene.mood.time, time);
      EXPECT_EQ(scene.mood.weather, weather);
      EXPECT_GT(scene.geometry.solids.size(), 50u) << name_of(style);
      EXPECT_LT(scene.geometry.solids.size(), 900u) << name_of(style);
      EXPECT_GE(scene.viewpoints.size(), 6u) << name_of(style);
      EXPECT_GE(scene.features.size(), 3u) << name_of(style);
      for (const std::string& caption : scene.captions) {
        EXPECT_THAT(caption, Not(HasSubstr(" a a"))) << caption;
        EXPECT_THAT(caption, Not(HasSubstr(" a o"))) << caption;
        EXPECT_THAT(caption, Not(HasSubstr("  "))) << caption;
      }
      EXPECT_THAT(scene.captions.front(), StartsWith("a "));
      EXPECT_EQ(scene.captions.front().starts_with("a snowy "), weather == Weather::kSnow);
      EXPECT_EQ(scene.captions.front().find(" at dusk ") != std::string::npos, time == Time::kDusk);
      captions.insert(scene.captions.begin(), scene.captions.end());
    }
  }
  EXPECT_GT(captions.size(), 50u);
}

TEST(Scene, PlazasHaveOneSkyAndOneMood) {
  std::set<std::string> captions;
  std::vector<uint32_t> sky;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Scene scene = make_scene(seed, {.style = Style::kPlaza});
    EXPECT_EQ(scene.mood.time, Time::kDay);
    EXPECT_EQ(scene.mood.weather, Weather::kClear);
    if (seed == 0) sky = scene.geometry.sky.texels;
    EXPECT_EQ(scene.geometry.sky.texels, sky);
    EXPECT_GT(scene.geometry.solids.size(), 80u);
    EXPECT_LT(scene.geometry.solids.size(), 400u);
    EXPECT_GE(scene.features.size(), 3u);
    EXPECT_GT(scene.tour_radius, 0);
    EXPECT_LT(scene.tour_radius, scene.trajectory_radius);
    EXPECT_THAT(scene.captions.front(), StartsWith("a sunny square by day with "));
    for (const std::string& caption : scene.captions) {
      EXPECT_THAT(caption, Not(HasSubstr(" a a"))) << caption;
      EXPECT_THAT(caption, Not(HasSubstr(" a o"))) << caption;
    }
    captions.insert(scene.captions.front());
  }
  EXPECT_GE(captions.size(), 11u);
  EXPECT_NO_THROW(make_scene(1, {Style::kPlaza, Time::kDay, Weather::kClear}));
  EXPECT_BAD_INPUT(make_scene(1, {.style = Style::kPlaza, .time = Time::kNight}),
                   HasSubstr("only by day"));
  EXPECT_BAD_INPUT(make_scene(1, {.style = Style::kPlaza, .weather = Weather::kSnow}),
                   HasSubstr("clear weather"));
}

TEST(Scene, ParsesFamilies) {
  EXPECT_EQ(parse_family("", "model"), std::nullopt);
  EXPECT_EQ(parse_family("plaza", "model"), Style::kPlaza);
  EXPECT_BAD_INPUT(parse_family("plazza", "some/model"),
                   AllOf(HasSubstr("some/model/generation.json"), HasSubstr("'plazza'"),
                         HasSubstr("did you mean 'plaza'")));
}

TEST(Scene, UsesHeldOutStylesOnlyOnRequest) {
  std::set<Style> seen;
  for (uint64_t seed = 0; seed < 12; ++seed) seen.insert(make_scene(seed).style);
  EXPECT_GE(seen.size(), 4u);
  for (const Style style : kHeldOutStyles) EXPECT_FALSE(seen.contains(style));
  EXPECT_FALSE(seen.contains(Style::kPlaza));
}

TEST(Scene, ParsesItsNames) {
  EXPECT_EQ(parse_style("desert"), Style::kDesert);
  EXPECT_EQ(parse_time("dusk"), Time::kDusk);
  EXPECT_EQ(parse_weather("snow"), Weather::kSnow);
  EXPECT_BAD_INPUT(parse_style("moon"),
                   HasSubstr("town, courtyard, forest, desert, interior, ruins, garden"));
  EXPECT_BAD_INPUT(parse_time("noon"), HasSubstr("day, dusk, night"));
  EXPECT_BAD_INPUT(parse_weather("rain"), HasSubstr("clear, fog, snow"));
}

// Every solid is inside its leaf and inside all ancestors of the leaf.
TEST(Scene, HierarchyContainsEverySolid) {
  const Scene scene = make_scene(9, {.style = Style::kForest});
  const SceneGeometry& geometry = scene.geometry;
  std::vector<int> held(geometry.solids.size());
  std::function<Bounds(size_t)> check = [&](size_t index) {
    const BvhNode& node = geometry.nodes[index];
    Bounds bounds;
    if (node.count > 0) {
      for (int i = node.right; i < node.right + node.count; ++i) {
        ++held[static_cast<size_t>(i)];
        bounds.add(bounds_of(geometry, geometry.solids[static_cast<size_t>(i)]));
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
