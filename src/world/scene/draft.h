// SPDX-License-Identifier: Apache-2.0
// A scene under construction: geometry, ground, colours, and features for its caption.
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

// Paint on the ground: a stroke between two points (a disc if they are equal) or a rectangle. Later
// strokes cover earlier ones.
struct GroundStroke {
  float x0, z0, x1, z1;
  float radius;  // of the round stroke; < 0: the rectangle from (x0, z0) to (x1, z1)
  Float3 albedo;
  float path = 1;      // weight of the path's pattern, 0 to 1
  float soft = 0.35f;  // width of the edge, metres
};

struct Ground {
  Float3 base, second;  // mixed by low-frequency noise
  float patch = 9;      // feature size of the noise, metres
  float extent = 44;    // the painted square extends this far from the origin, metres
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
  // Removes and returns one of the remaining accent colours, so that landmarks differ.
  NamedColour take_accent();

  // Materials. In snowy moods, snow covers surfaces that face up.
  int32_t matte(int32_t pattern, float tile, const Float3& base, float contrast = 0.25f);
  int32_t material(int32_t pattern, float tile, const Float3& base, const Float3& second,
                   const Float3& third, const Float3& glow = {});
  int32_t shining(const Float3& glow);
  int32_t water(const Float3& base);
  // `index`, or snow in snowy moods.
  int32_t topped(int32_t index) const { return mood.snow() ? snow_ : index; }
  Faces faces(int32_t side) const { return {side, topped(side)}; }
  int32_t snow() const { return snow_; }

  // Adds a feature for the caption, such as "a red tower"; "a" becomes "an" where necessary.
  // `first` puts it before the others.
  void feature(std::string text, bool first = false);

  // If the disc is free of all claimed discs, claims it and returns true.
  bool claim(float x, float z, float radius);
  bool is_free(float x, float z, float radius) const;
  void reserve(float x, float z, float radius) { claimed_.push_back({x, z, radius}); }

  SceneGeometry& geometry;
  SceneBuilder build;
  Mood mood;
  Random random;
  Ground ground;
  std::vector<std::string> features;
  std::vector<Place> viewpoints;  // good camera places; `rotation` is a good direction to look
  float trajectory_radius = 24;   // cameras stay within this distance of the origin, metres
  float tour_radius = 0;          // see Scene

 private:
  struct Disc {
    float x, z, radius;
  };
  std::vector<NamedColour> accents_;
  std::vector<Disc> claimed_;
  int32_t snow_ = 0;
};

}  // namespace loci::world
