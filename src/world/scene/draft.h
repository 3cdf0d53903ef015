// SPDX-License-Identifier: Apache-2.0
// A world while it is being made: the scene, its ground, its colours, and what to say about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loci/base/random.h"
#include "loci/world/scene/builder.h"
#include "loci/world/scene/light.h"
#include "loci/world/scene/mood.h"

namespace loci::world {

struct NamedColour {
  std::string_view name;
  uint32_t rgb = 0;
};

// Something painted on the ground: a stroke between two points (a disc when they are equal), or a
// rectangle. Later ones cover earlier ones.
struct GroundStroke {
  float x0, z0, x1, z1;
  float radius;  // of the stroke's round pen; < 0: the rectangle from (x0, z0) to (x1, z1)
  Float3 albedo;
  float path = 1;      // share of the path's pattern
  float soft = 0.35f;  // width of the edge, metres
};

struct Ground {
  Float3 base, second;  // mixed by slow noise
  float patch = 9;      // metres of that noise
  uint32_t seed = 0;
  std::vector<GroundStroke> strokes;

  PaintedGround paint() const;
};

class Draft {
 public:
  Draft(SceneGeometry& geometry, const Mood& mood, uint64_t seed);

  float uniform(double low, double high) { return static_cast<float>(random.uniform(low, high)); }
  template <typename List>
  const auto& pick(const List& list) {
    return list[random.below(std::size(list))];
  }
  // Takes a colour out of those that are left, so that landmarks differ.
  NamedColour take_accent();

  // Materials. Snow covers what faces up when the mood says so.
  int32_t matte(int32_t pattern, float tile, const Float3& base, float contrast = 0.25f);
  int32_t material(int32_t pattern, float tile, const Float3& base, const Float3& second,
                   const Float3& third, const Float3& glow = {});
  int32_t shining(const Float3& glow);
  int32_t water(const Float3& base);
  // `index`, or snow in snowy moods.
  int32_t topped(int32_t index) const { return mood.snow() ? snow_ : index; }
  Faces faces(int32_t side) const { return {side, topped(side)}; }
  int32_t snow() const { return snow_; }

  // Remembers a feature for the caption, most striking first: "a red tower". "a" becomes "an" where
  // the next word demands it.
  void feature(std::string text, bool first = false);

  // True when the disc is free of everything placed with `claim` so far, and claims it.
  bool claim(float x, float z, float radius);
  bool is_free(float x, float z, float radius) const;
  void reserve(float x, float z, float radius) { claimed_.push_back({x, z, radius}); }

  SceneGeometry& geometry;
  SceneBuilder build;
  Mood mood;
  Random random;
  Ground ground;
  std::vector<std::string> features;
  std::vector<Place> viewpoints;  // good places to stand; turn = a good direction to look
  float trajectory_radius = 24;   // people stay within this distance of the origin

 private:
  struct Disc {
    float x, z, radius;
  };
  std::vector<NamedColour> accents_;
  std::vector<Disc> claimed_;
  int32_t snow_ = 0;
};

}  // namespace loci::world
