// SPDX-License-Identifier: Apache-2.0
// Time of day and weather of a scene: sun, sky and haze.
#pragma once

#include <string_view>

#include "loci/base/random.h"
#include "loci/world/scene/scene_geometry.h"

namespace loci::world {

enum class Time { kDay, kDusk, kNight };
enum class Weather { kClear, kFog, kSnow };

struct Mood {
  Time time = Time::kDay;
  Weather weather = Weather::kClear;

  bool snow() const { return weather == Weather::kSnow; }
  bool dark() const { return time == Time::kNight; }
  // Brightness of windows and lamps: 0 by day, 1 at night.
  float lamps() const { return time == Time::kNight ? 1.0f : time == Time::kDusk ? 0.75f : 0.0f; }
};

// Silhouettes on the horizon.
enum class Horizon { kHills, kMountains, kMesas };

// Converts a displayed colour 0xRRGGBB to linear light.
Float3 colour(uint32_t rgb);

// Sets the atmosphere and paints the sky.
void make_sky(SceneGeometry& geometry, const Mood& mood, Horizon horizon, Random& random);
// The same for styles that exist in one mood: a warm, clear day. Sun and clouds are always at the
// same place.
void make_fair_sky(SceneGeometry& geometry);

}  // namespace loci::world
