// SPDX-License-Identifier: Apache-2.0
#include "loci/world/path/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/camera/revisit.h"

#include "tests/base/expect_error.h"

namespace loci::world {
namespace {

using ::testing::HasSubstr;

// A scene of each training style with its free space.
struct Site {
  Scene scene;
  FreeSpace free_space;
  explicit Site(Style style) : scene(make_scene(300, {.style = style})), free_space(scene) {}
};
const std::vector<std::unique_ptr<Site>>& sites() {
  static const auto all = [] {
    std::vector<std::unique_ptr<Site>> list;
    for (const Style style : kTrainingStyles) list.push_back(std::make_unique<Site>(style));
    return list;
  }();
  return all;
}

// No obstacle within the margin (checked with the solids, not with the planner's grid), and no
// jumps.
void expect_free(const Site& site, const std::vector<camera::Pose>& poses,
                 const PathOptions& options) {
  std::vector<Footprint> obstacles;
  for (const Solid& solid : site.scene.geometry.solids) {
    const Footprint footprint(site.scene.geometry, solid);
    if (footprint.in_the_way()) obstacles.push_back(footprint);
  }
  ASSERT_EQ(static_cast<int64_t>(poses.size()), options.frames);
  for (size_t i = 0; i < poses.size(); ++i) {
    const Point p{poses[i].position.x, poses[i].position.z};
    double nearest = 10;
    for (const Footprint& obstacle : obstacles) nearest = std::min(nearest, obstacle.distance(p));
    ASSERT_GE(nearest, FreeSpace::kMargin) << name_of(site.scene.style) << " frame " << i;
    ASSERT_NEAR(poses[i].position.y, -options.eye_height, 1e-12);
    if (i == 0) continue;
    ASSERT_LE(camera::norm(poses[i].position - poses[i - 1].position) * options.fps, 1.3);
    ASSERT_LE(camera::angle_between(poses[i].rotation, poses[i - 1].rotation) * options.fps,
              60 * kPi / 180);
  }
}

TEST(Path, AvoidsCollisionsAndReturnsWhenRequested) {
  PathOptions options;
  int with_revisits = 0, paths = 0, unplanned = 0;
  double metres = 0, degrees = 0;
  for (const auto& site : sites()) {
    for (uint64_t seed = 0; seed < 12; ++seed, ++paths) {
      options.returns = true;
      const auto poses = make_path(site->free_space, site->scene, seed, options);
      EXPECT_EQ(poses, make_path(site->free_space, site->scene, seed, options));
      expect_free(*site, poses, options);
      with_revisits += camera::find_revisits(poses, options.fps).empty() ? 0 : 1;
      for (size_t i = 1; i < poses.size(); ++i) {
        metres += camera::norm(poses[i].position - poses[i - 1].position);
        degrees += camera::angle_between(poses[i].rotation, poses[i - 1].rotation) * (180 / kPi);
      }
      options.returns = false;
      const auto onward = make_path(site->free_space, site->scene, seed, options);
      expect_free(*site, onward, options);
      unplanned += camera::find_revisits(onward, options.fps).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(with_revisits, 0.85 * paths);
  EXPECT_LT(unplanned, 0.15 * paths);
  EXPECT_GT(metres / paths, 4);  // 20 s each
  EXPECT_GT(degrees / paths, 250);
  EXPECT_LT(degrees / paths, 700);
}

TEST(Path, MovesOrLooksAwayInShortClips) {
  PathOptions options;
  options.frames = 81;
  for (const auto& site : sites()) {
    double metres = 0, degrees = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const auto poses = make_path(site->free_space, site->scene, seed, options);
      expect_free(*site, poses, options);
      for (size_t i = 1; i < poses.size(); ++i) {
        metres += camera::norm(poses[i].position - poses[i - 1].position);
        degrees += camera::angle_between(poses[i].rotation, poses[i - 1].rotation) * (180 / kPi);
      }
    }
    EXPECT_GT(metres / 8 + degrees / 8 / 60, 1.5) << name_of(site->scene.style);
  }
}

TEST(Path, ReturnsAfterMoreThanAMinuteInLongClips) {
  PathOptions options;
  for (const int seconds : {120, 300}) {
    options.frames = seconds * 16 + 1;
    int late = 0;
    for (size_t i = 0; i < sites().size(); ++i) {
      const auto poses = make_path(sites()[i]->free_space, sites()[i]->scene, i, options);
      expect_free(*sites()[i], poses, options);
      bool found = false;
      for (const camera::Revisit& revisit : camera::find_revisits(poses, options.fps))
        found = found || revisit.gap > 60;
      late += found ? 1 : 0;
    }
    EXPECT_GE(late, seconds == 120 ? 3 : 5) << seconds;
  }
}

TEST(Path, ToursShowAPlazaAndEndWhereTheyBegan) {
  int seeds_with_returns = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Scene scene = make_scene(500 + seed, {.style = Style::kPlaza});
    const FreeSpace free_space(scene);
    PathOptions options;
    options.frames = 60 * 16 + 1;
    options.motion = motion_of(scene.style);
    const auto poses = make_tour(free_space, scene, seed, options);
    EXPECT_EQ(poses, make_tour(free_space, scene, seed, options));
    ASSERT_EQ(poses.size(), 961u);
    const auto end = static_cast<size_t>(kTourSeconds * options.fps);
    EXPECT_LT(camera::norm(poses[end].position - poses[0].position), 1e-3);
    EXPECT_LT(camera::angle_between(poses[end].rotation, poses[0].rotation), 1e-3);
    double turned = 0;
    for (size_t i = 0; i < poses.size(); ++i) {
      const Point p{poses[i].position.x, poses[i].position.z};
      ASSERT_GE(free_space.clearance(p), FreeSpace::kMargin) << seed << " frame " << i;
      if (i == 0) continue;
      const double speed = camera::norm(poses[i].position - poses[i - 1].position) * options.fps;
      const double rate =
          camera::angle_between(poses[i].rotation, poses[i - 1].rotation) * options.fps;
      if (i <= end) turned += rate / options.fps * (180 / kPi);
      ASSERT_LE(speed, 0.95) << seed << " frame " << i;
      ASSERT_LE(rate * (180 / kPi), 20) << seed << " frame " << i;
    }
    EXPECT_NEAR(turned, 360, 1e-3);
    // Most walks return to views of the tour within the 35 s that follow it.
    int returns = 0;
    for (const camera::Revisit& revisit : camera::find_revisits(poses, options.fps))
      returns += revisit.frame > static_cast<int64_t>(end) + 16 &&
                         revisit.earlier <= static_cast<int64_t>(end)
                     ? 1
                     : 0;
    seeds_with_returns += returns > 0 ? 1 : 0;
  }
  EXPECT_GE(seeds_with_returns, 4);
}

TEST(Path, OnlyScenesWithATourHaveOne) {
  EXPECT_BAD_INPUT(make_tour(sites()[0]->free_space, sites()[0]->scene, 1, {}),
                   HasSubstr("the style town have no tour"));
}

TEST(Path, DesignedPathsMatchTheirNames) {
  PathOptions options;
  options.frames = 481;  // 30 s
  for (const auto& site : sites()) {
    for (int i = 0; i < kDesignedPaths; ++i) {
      const auto path = static_cast<DesignedPath>(i);
      EXPECT_EQ(parse_designed_path(name_of(path)), path);
      const auto poses = make_designed_path(site->free_space, site->scene, path, 3, options);
      expect_free(*site, poses, options);
      double turned = 0, farthest = 0, highest = 0;
      for (size_t k = 1; k < poses.size(); ++k) {
        turned += camera::angle_between(poses[k].rotation, poses[k - 1].rotation) * (180 / kPi);
        farthest = std::max(farthest, camera::norm(poses[k].position - poses[0].position));
        highest = std::max(highest, poses[k].pitch() * (180 / kPi));
      }
      const std::string what = fmt::format("{} in {}", name_of(path), name_of(site->scene.style));
      const bool back = !camera::find_revisits(poses, options.fps).empty();
      switch (path) {
        case DesignedPath::kStatic:
          EXPECT_EQ(turned, 0) << what;
          EXPECT_EQ(farthest, 0) << what;
          break;
        case DesignedPath::kStraight:
          EXPECT_GT(farthest, 1.5) << what;
          EXPECT_LT(turned, 5) << what;
          break;
        case DesignedPath::kSpin:
          EXPECT_GT(turned, 700) << what;
          EXPECT_EQ(farthest, 0) << what;
          EXPECT_TRUE(back) << what;
          break;
        case DesignedPath::kLookAround:
          EXPECT_GT(turned, 400) << what;
          EXPECT_LT(highest, 1) << what;
          EXPECT_TRUE(back) << what;
          break;
        case DesignedPath::kLookAroundPitch:
          EXPECT_GT(highest, 10) << what;
          EXPECT_TRUE(back) << what;
          break;
        case DesignedPath::kOutAndBack:
          EXPECT_GT(farthest, 1) << what;
          EXPECT_GT(turned, 300) << what;
          EXPECT_TRUE(back) << what;
          break;
        case DesignedPath::kSquare:
          EXPECT_GT(farthest, 0.8) << what;
          EXPECT_GT(turned, 330) << what;
          break;
      }
    }
  }
  EXPECT_BAD_INPUT(parse_designed_path("zigzag"), HasSubstr("out-and-back, square"));
}

TEST(FreeSpace, RoutesKeepTheMargin) {
  const Site& site = *sites()[0];
  const auto from = site.free_space.nearest_free({0, 7}),
             to = site.free_space.nearest_free({19, -10});
  ASSERT_TRUE(from && to);
  const std::vector<Point> route = site.free_space.route(*from, *to);
  ASSERT_GE(route.size(), 2u);
  EXPECT_EQ(length(route.front() - *from), 0);
  EXPECT_EQ(length(route.back() - *to), 0);
  for (size_t i = 0; i + 1 < route.size(); ++i) {
    for (double t = 0; t < 1; t += 0.1) {
      EXPECT_GE(site.free_space.clearance(route[i] + (route[i + 1] - route[i]) * t),
                FreeSpace::kMargin);
    }
  }
  EXPECT_TRUE(site.free_space.route({1000, 0}, *to).empty());
}

}  // namespace
}  // namespace loci::world
