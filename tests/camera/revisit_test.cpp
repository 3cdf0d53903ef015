// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/revisit.h"

#include "loci/camera/path/keys.h"

#include "paths.h"

namespace loci::camera {
namespace {

// A literal implementation of the definition.
std::vector<Revisit> by_definition(const std::vector<Pose>& poses, double fps,
                                   const RevisitRule& rule) {
  std::vector<Revisit> revisits;
  const auto count = static_cast<int64_t>(poses.size());
  for (int64_t frame = 0; frame < count; ++frame) {
    for (int64_t earlier = 0; earlier < frame; ++earlier) {
      const Pose &now = poses[frame], &then = poses[earlier];
      if (static_cast<double>(frame - earlier) / fps < rule.gap - 1e-9) break;
      if (norm(now.position - then.position) > rule.distance) continue;
      if (angle_between(now.rotation, then.rotation) > rule.turn) continue;
      bool looked_away = false;
      for (int64_t i = earlier + 1; i < frame && !looked_away; ++i) {
        looked_away = angle_between(poses[i].rotation, then.rotation) >= rule.away;
      }
      if (!looked_away) continue;
      revisits.push_back({frame, earlier, static_cast<double>(frame - earlier) / fps});
      break;
    }
  }
  return revisits;
}

std::vector<Pose> walk(const std::string& keys) {
  return key_path(parse_key_string(keys, 4), {}, 4);
}

TEST(Revisit, AgreesWithTheDefinition) {
  std::vector<std::vector<Pose>> paths = {
      walk("right-96"),                       // two turns on the spot
      walk("right-10,left-20,right-10"),      // looks around
      walk("none-60,right-12,left-12"),       // waits, looks aside, returns
      walk("w-8,right-24,w-8,right-24,w-8"),  // back and forth
      walk("w-4,right-12,w-4,right-12,w-4,right-12,w-4,right-12,none-20"),
      walk("none-1"),
      {},
      {Pose{}},
  };
  // Small random motions within a metre, in all directions.
  Random random(11);
  for (uint64_t seed = 0; seed < 6; ++seed) {
    std::vector<Pose> path;
    double yaw = 0, pitch = 0;
    Vec3 place;
    for (int i = 0; i < 250; ++i) {
      yaw += 0.25 * random.normal();
      pitch = 0.9 * pitch + 0.1 * random.normal();
      place = place * 0.98 + Vec3{random.normal(), 0.2 * random.normal(), random.normal()} * 0.06;
      path.push_back({rotation_from_angles(yaw, pitch, 0.1 * random.normal()), place});
    }
    paths.push_back(std::move(path));
  }
  size_t found = 0;
  for (const std::vector<Pose>& path : paths) {
    for (const RevisitRule& rule : {RevisitRule{}, RevisitRule{0.05, 0.2, 2, 0.5},
                                    RevisitRule{10, 3.2, 0, 0}, RevisitRule{0.3, 0.1, 1, 2.5}}) {
      const std::vector<Revisit> expected = by_definition(path, 4, rule);
      EXPECT_EQ(find_revisits(path, 4, rule), expected);
      found += expected.size();
    }
  }
  EXPECT_GT(found, 1000u) << "the cases must contain revisits";
}

TEST(Revisit, FindsKnownCases) {
  // A full turn in 12 s and a little more: the revisit starts at 328 degrees.
  const std::vector<Revisit> spin = find_revisits(walk("right-52"), 4);
  ASSERT_FALSE(spin.empty());
  EXPECT_EQ(spin.front(), (Revisit{44, 0, 11}));
  EXPECT_EQ(spin.back().frame, 52);
  EXPECT_TRUE(find_revisits(walk("none-200"), 4).empty()) << "never looked away";
  EXPECT_TRUE(find_revisits(walk("right-7,left-7,none-60"), 4).empty()) << "only by 52 degrees";
  EXPECT_TRUE(find_revisits(walk("w-16,s-16"), 4).empty());
  EXPECT_TRUE(find_revisits(walk("right-12,left-12"), 4).empty()) << "before 8 s";
  EXPECT_FALSE(find_revisits(walk("right-12,none-16,left-12"), 4).empty());
  EXPECT_TRUE(find_revisits(walk("right-24,w-1,right-24"), 4).empty()) << "0.25 m aside";
}

TEST(Revisit, FindsTheClosestFrameOfTheFirstVisit) {
  // Turns right through the view of the return, looks away, and comes back to 10 degrees.
  const auto turned = [](double degrees) {
    return Pose{rotation_from_angles(degrees * std::numbers::pi / 180, 0), {}};
  };
  std::vector<Pose> poses;
  for (int i = 0; i <= 20; ++i) poses.push_back(turned(5.0 * i - 30));
  poses.push_back(turned(10));  // frame 21: another visit, after the camera left
  poses.push_back(turned(11));  // frame 22: the return
  const Revisit revisit{22, 2, 10};
  EXPECT_EQ(closest_of_first_visit(poses, revisit), 8) << "10 degrees";
  poses[8].position.x = 0.14;  // nearly at the limit of 0.15 m
  EXPECT_EQ(closest_of_first_visit(poses, revisit), 9) << "15 degrees";
  // The visit ends where the camera leaves.
  poses[5].position.x = 1;
  EXPECT_EQ(closest_of_first_visit(poses, revisit), 4) << "-10 degrees";
}

// Paths for which a search over all pairs, or over all near frames, would take minutes.
TEST(Revisit, TakesAboutLinearTimeForLongPaths) {
  constexpr size_t kFrames = 50'000;
  std::vector<Pose> still(kFrames), two_views(kFrames), two_places(kFrames), spinning, straight;
  for (size_t i = 0; i < kFrames; ++i) {
    const double t = static_cast<double>(i) / 16;
    const bool late = i >= kFrames / 2;
    // 40 degrees or 0.2 m apart: slightly too far to be near.
    two_views[i].rotation = rotation_from_angles(late ? 0.7 : 0, i % 300 == 0 ? 1.2 : 0);
    two_places[i] = {rotation_from_angles(0.5 * t, 0), {late ? 0.2 : 0, 0, 0.02 * std::sin(t)}};
    spinning.push_back({rotation_from_angles(0.5 * t, 0), {}});
    straight.push_back({rotation_from_angles(std::sin(t), 0), {0, 0, t}});
  }
  EXPECT_EQ(find_revisits(still, 16).size(), 0u);
  EXPECT_GT(find_revisits(two_views, 16).size(), kFrames / 2);
  EXPECT_GT(find_revisits(two_places, 16).size(), kFrames / 2);
  EXPECT_GT(find_revisits(spinning, 16).size(), kFrames * 9 / 10);
  EXPECT_EQ(find_revisits(straight, 16).size(), 0u);
}

}  // namespace
}  // namespace loci::camera
